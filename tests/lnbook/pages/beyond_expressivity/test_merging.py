"""The network of layer norms of three units: it gives the labels, and merges by pairs."""

from itertools import product

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_expressivity import drawings, merging
from lnlib.norms import layer_norm


def line(m: int) -> torch.Tensor:
    return torch.linspace(-1, 1, m, dtype=torch.float64)[:, None]


def given(network: merging.Network, x: torch.Tensor) -> list[int]:
    """The labels by a plain loop, without the module's own."""
    for W, b in network.layers:
        a = x @ W.T + b
        a = a - a.mean(1, keepdim=True)
        x = a / a.square().mean(1, keepdim=True).sqrt()
    return (x @ network.readout.T).argmax(1).tolist()


@pytest.mark.parametrize("m", [2, 3, 5])
def test_every_labeling_of_a_few_points_comes_out_with_a_layer_less_than_points(m: int) -> None:
    for labels in product((0, 1), repeat=m):
        if len(set(labels)) == 2:
            network = merging.construct(line(m), torch.tensor(labels))
            assert given(network, line(m)) == list(labels)
            assert len(network.layers) == m - 1
            assert all(W.shape[0] == 3 for W, _ in network.layers)


@pytest.mark.parametrize("labels", [[0], [0, 0, 0], [0, 1, 2, 1, 0, 2], [0, 1, 2, 3]])
def test_one_label_and_many_need_a_layer_for_each_point_that_goes_and_one(labels: list[int]) -> None:
    network = merging.construct(line(len(labels)), torch.tensor(labels))
    assert given(network, line(len(labels))) == labels
    assert len(network.layers) == len(labels) - max(labels)


def test_points_of_a_plane_are_told_apart_by_their_first_coordinate() -> None:
    x = torch.randn(7, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 100
    labels = torch.tensor([0, 1, 0, 1, 1, 0, 1])
    assert given(merging.construct(x, labels), x) == labels.tolist()


def test_each_layer_merges_two_points_of_one_label_and_no_others() -> None:
    labels = torch.tensor([0, 1, 0, 1, 1, 0])
    found = merging.states(merging.construct(line(6), labels).layers, line(6))
    for k, h in enumerate(found):
        one = torch.cdist(h, h) < 1e-9  # merged up to rounding, which later layers magnify
        assert len(torch.unique(one, dim=0)) == 6 - k
        assert not bool((one & (labels[:, None] != labels)).any())


def test_layer_norm_of_the_plane_is_a_direction_root_three_long() -> None:
    v = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    h = layer_norm(v @ merging.PLANE.T, eps=0.0)
    torch.testing.assert_close(h @ merging.PLANE / 3**0.5, v / 5)


def test_states_are_computed_in_the_precision_of_the_points() -> None:
    network = merging.construct(line(4), torch.tensor([0, 1, 1, 0]))
    exact = merging.states(network.layers, line(4))
    single = merging.states(network.layers, line(4).float())
    assert single[-1].dtype == torch.float32
    assert 0 < float((single[-1] - exact[-1]).abs().max()) < 1e-4


@pytest.mark.parametrize(
    ("x", "labels", "message"),
    [
        ([[1.0], [1.0]], [0, 1], "all different"),
        ([[0.0], [1.0]], [0, 2], "use all of 0"),
        ([[0.0], [1.0]], [1, 1], "use all of 0"),
    ],
)
def test_points_that_coincide_and_labels_left_out_are_refused(x, labels, message) -> None:
    with pytest.raises(ValueError, match=message):
        merging.construct(torch.tensor(x), torch.tensor(labels))


def test_no_points_are_refused() -> None:
    with pytest.raises(ValueError, match="0 points"):
        merging.construct(torch.zeros(0, 1), torch.zeros(0, dtype=torch.long))


def test_exactly_the_keys_inside_the_hull_are_ringed() -> None:
    keys = np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.2, 0.1]])
    fig = drawings.unselectable_keys(keys, keys + 1, {4: {8: 0.1, 16: 0.5}, 8: {8: 0.0, 16: 0.2}})
    left, right = fig.axes
    rings = next(line for line in left.lines if line.get_label() == "unselectable")
    np.testing.assert_array_equal(rings.get_xydata(), keys[[0, 5]])
    assert list(right.lines[0].get_ydata()) == [0.1, 0.5]
