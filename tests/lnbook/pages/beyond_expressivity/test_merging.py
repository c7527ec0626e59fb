"""The network of layer norms of three units: it gives the labels, and merges by pairs."""

from itertools import product

import pytest
import torch

from lnbook.pages.beyond_expressivity import merging


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
