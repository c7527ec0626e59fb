"""What two real processes compute together, against one with all cases."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import lnlib
from lnbook.pages.beyond_distributed import updates as distributed
from lnbook.pages.beyond_distributed.parallel import Processes
from lnbook.training import ALONE

pytestmark = pytest.mark.slow

UNITS = (12, 16, 16, 4)


@pytest.fixture(scope="module")
def two() -> Iterator[Processes]:
    with Processes(2, seconds=1500) as processes:
        yield processes


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    return random.normal(size=(24, 12)), random.integers(0, 4, 24)


def off(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(one))


@pytest.mark.parametrize("shares", [None, [5, 19]])
@pytest.mark.parametrize("norm", ["none", "rms", "weight", "layer", "sync"])
def test_two_processes_compute_the_gradient_of_one(two, data, norm, shares) -> None:
    whole = distributed.gradient(ALONE, "batch" if norm == "sync" else norm, UNITS, *data)
    for part in two.call(distributed.gradient, norm, UNITS, *data, shares=shares):
        assert off(whole, part) < 1e-14  # sums of 24 in another order


def test_with_batch_norm_they_do_not(two, data) -> None:
    whole = distributed.gradient(ALONE, "batch", UNITS, *data)
    one, other = two.call(distributed.gradient, "batch", UNITS, *data)
    assert np.array_equal(one, other)
    assert off(whole, one) > 0.1


def test_uneven_shares_need_weights_whatever_the_norm(two, data) -> None:
    whole = distributed.gradient(ALONE, "layer", UNITS, *data)
    part = two.call(distributed.gradient, "layer", UNITS, *data, shares=[5, 19], weighted=False)[0]
    assert off(whole, part) > 0.05
    even = two.call(distributed.gradient, "layer", UNITS, *data, weighted=False)[0]
    assert off(whole, even) < 1e-14


@pytest.mark.parametrize("layers", [1, 3])
def test_synchronized_batch_norm_adds_two_collectives_a_layer(two, layers) -> None:
    calls = {
        norm: two.call(distributed.collectives_of_a_step, norm, layers, 8, 4)[0]
        for norm in ("layer", "batch", "sync")
    }
    gradients = ("allreduce", 4 * layers * 8 * (8 + 2))
    assert calls["layer"] == ([], [gradients])
    buffers = calls["batch"][0]
    assert all(name == "broadcast" for name, _ in buffers)
    assert calls["batch"] == (buffers, [gradients])
    forward = [("allgather", 8 * (2 * 8 + 1))] * layers
    assert calls["sync"] == (buffers + forward, [("allreduce", 4 * 2 * 8)] * layers + [gradients])


def test_times_have_a_place_for_each_measurement_and_are_positive(two) -> None:
    steps = two.call(distributed.step_seconds, ("layer", "sync"), (1, 2, 3), 8, 4, 5)[0]
    assert steps.shape == (2, 3, 5)
    assert (steps > 0).all()
    seconds = two.call(distributed.all_reduce_seconds, [1, 10], 4)[1]
    assert seconds.shape == (2, 4)
    assert (seconds > 0).all()


def test_what_is_saved_are_the_averages_of_the_first_process(two) -> None:
    random = np.random.default_rng(2)
    x, weight = random.normal(size=(5, 8, 6)), random.normal(size=(3, 6))
    (saved, first), (same, second) = two.call(distributed.stored_means, "batch", x, weight)
    assert np.array_equal(saved, same)
    assert np.array_equal(saved, first)
    assert np.abs(saved - second).max() > 0.1
    together = two.call(distributed.stored_means, "sync", x, weight)[0][0]
    expected = np.zeros(3)
    for batch in x:
        expected = 0.9 * expected + 0.1 * (batch @ weight.T).mean(0)
    np.testing.assert_allclose(together, expected, atol=1e-14)


def test_parted_units_need_a_message_under_layer_norm_alone(two) -> None:
    random = np.random.default_rng(3)
    x, weight = random.normal(size=(7, 6)), random.normal(size=(10, 6))
    a = torch.from_numpy(x @ weight.T)

    def joined(norm: str, sync: bool) -> np.ndarray:
        return np.concatenate(two.call(distributed.parted_units, norm, x, weight, sync), 1)

    np.testing.assert_allclose(joined("batch", False), lnlib.batch_norm(a), atol=1e-14)
    np.testing.assert_allclose(joined("layer", True), lnlib.layer_norm(a), atol=1e-14)
    assert np.abs(joined("layer", False) - lnlib.layer_norm(a).numpy()).max() > 0.1


def test_towers_of_all_norms_start_from_the_same_weights() -> None:
    one, other = (distributed.tower(2, norm, 5)[3].weight for norm in ("layer", "sync"))
    assert torch.equal(one, other)
