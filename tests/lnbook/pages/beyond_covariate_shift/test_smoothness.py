"""Sharpness and reach against losses whose answers are known, and against plain loops."""

import math

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.beyond_covariate_shift import drawings, smoothness, twins
from lnbook.pages.beyond_covariate_shift.twins import Twins

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def arrays() -> twins.Arrays:
    return twins.pictures(data.load("digits"), 400)


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(3, 20, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return x, torch.randint(3, (3, 20), generator=torch.Generator().manual_seed(1))


def nets(norm: str = "layer") -> Twins:
    return Twins([5, 7, 6, 3], norm, SEEDS, dtype=torch.float64)


def vector(model: Twins, x, y, t: float) -> tuple[torch.Tensor, torch.Tensor]:
    """One start's loss and gradient, as a vector, after a step of t against the gradient at its own place."""
    p = [q for q in model.parameters() if q.numel()]
    g = torch.autograd.grad(twins.loss(model(x), y), p)
    with torch.no_grad():
        for q, slope in zip(p, g, strict=True):
            q -= t * slope
    value = twins.loss(model(x), y)
    return value.detach(), torch.cat([v.flatten() for v in torch.autograd.grad(value, p)])


@pytest.mark.parametrize("norm", ["none", "batch", "layer"])
def test_sharpness_is_the_largest_change_of_the_gradient_over_the_distance(norm, cases) -> None:
    x, y = cases
    found = smoothness.sharpness(nets(norm), x, y, 0.1)
    for s, seed in enumerate(SEEDS):

        def alone() -> Twins:
            return Twins([5, 7, 6, 3], norm, [seed], dtype=torch.float64)  # noqa: B023

        _, at = vector(alone(), x[s : s + 1], y[s : s + 1], 0.0)
        slow = [
            (vector(alone(), x[s : s + 1], y[s : s + 1], t)[1] - at).norm() / (t * at.norm())
            for t in (0.05, 0.1, 0.2, 0.4)
        ]
        torch.testing.assert_close(found[s], torch.stack(slow).max())


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_half_of_the_promise_comes_true_at_the_reach(norm, cases) -> None:
    x, y = cases
    found = smoothness.reach(nets(norm), x, y)
    for s, seed in enumerate(SEEDS):
        case = x[s : s + 1], y[s : s + 1]

        def kept(share: float) -> float:
            model = Twins([5, 7, 6, 3], norm, [seed], dtype=torch.float64)  # noqa: B023
            before, g = vector(model, *case, 0.0)  # noqa: B023
            after, _ = vector(model, *case, share * float(before / g.square().sum()))  # noqa: B023
            return float((before - after) / (share * before))

        # interpolated between shares that differ by a factor of two
        assert kept(float(found[s]) / 2) > 0.5 > kept(2 * float(found[s]))


def test_weights_ten_times_as_large_are_a_hundred_times_as_smooth_and_reach_as_far(cases) -> None:
    def hidden(scale: float, rate: float) -> tuple[torch.Tensor, torch.Tensor]:
        model = Twins([5, 7, 6, 3], "layer", SEEDS, scale=scale, eps=0.0, dtype=torch.float64)
        moved = ("weights.0", "weights.1")
        return smoothness.sharpness(model, *cases, rate, moved=moved), smoothness.reach(
            model, *cases, moved=moved
        )

    (sharp, far), (scaled, scaled_far) = hidden(1.0, 0.1), hidden(10.0, 10.0)
    torch.testing.assert_close(scaled * 100, sharp, rtol=1e-9, atol=0)
    torch.testing.assert_close(scaled_far, far, rtol=1e-9, atol=0)


def test_measuring_moves_nothing(cases) -> None:
    model = nets()
    before = [p.clone() for p in model.parameters()]
    smoothness.sharpness(model, *cases, 0.1)
    smoothness.reach(model, *cases)
    assert all(map(torch.equal, before, model.parameters()))
    assert all(p.grad is None for p in model.parameters())


def test_training_is_measured_at_the_start_and_every_so_often(arrays) -> None:
    found = smoothness.along_training(
        arrays, norm="layer", hidden=(8,), rate=0.1, seeds=SEEDS, updates=20, every=10, batch=32
    )
    assert {name: values.shape for name, values in found.items()} == dict.fromkeys(
        ("loss", "sharpness", "reach"), (3, 3)
    )
    assert (found["loss"][:, -1] < found["loss"][:, 0]).all()


def test_a_measure_that_depends_on_the_loss_alone_is_equal_at_equal_losses() -> None:
    def run(rate: float) -> dict[str, np.ndarray]:
        loss = 2.3 * np.exp(-rate * np.arange(30.0))[None]
        return {"loss": loss, "reach": loss**-0.7}

    found = smoothness.matched({"slow": run(0.05), "fast": run(0.2)}, "reach")
    np.testing.assert_allclose(found["slow"], found["fast"], rtol=1e-9)  # both are straight lines in logs
    middle = math.sqrt(2.3 * 2.3 * math.exp(-0.05 * 29))
    np.testing.assert_allclose(found["slow"], middle**-0.7, rtol=1e-9)


def test_a_comparison_has_every_depth_rate_and_norm_and_none_over_none_is_one(arrays) -> None:
    found = smoothness.compare(
        arrays, units=8, depths=(1, 2), rates=(0.05, 0.1), seeds=SEEDS, updates=20, every=10
    )
    assert {d: list(rates) for d, rates in found.items()} == {1: [0.05, 0.1], 2: [0.05, 0.1]}
    for measure in ("sharpness", "reach"):
        np.testing.assert_array_equal(smoothness.over_none(found[1], "none", measure), 0)
    runs = found[2].values()
    slow = [np.log(run["batch"]["sharpness"] / run["none"]["sharpness"]).mean(1) for run in runs]
    np.testing.assert_allclose(smoothness.over_none(found[2], "batch", "sharpness"), sum(slow) / 2)


def test_trust_shows_geometric_means_against_the_falling_loss() -> None:
    run = {
        "loss": np.array([[2.0, 1.0], [2.0, 0.25]]),
        "sharpness": np.array([[1.0, 4.0], [4.0, 4.0]]),
        "reach": np.array([[0.5, 0.5], [0.5, 2.0]]),
    }
    fig = drawings.trust({"two": {"none": run, "layer": run}, "eight": {"layer": run}})
    top, _, bottom, _ = fig.axes
    np.testing.assert_allclose(top.lines[0].get_xdata(), [2.0, 0.5])
    np.testing.assert_allclose(top.lines[0].get_ydata(), [2.0, 4.0])
    np.testing.assert_allclose(bottom.lines[1].get_ydata(), [0.5, 1.0])
    left, right = top.get_xlim()
    assert left > right, "the loss falls to the right"
