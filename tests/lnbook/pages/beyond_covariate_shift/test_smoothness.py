"""Sharpness and reach against losses whose answers are known, and against plain loops."""

import math

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_covariate_shift import smoothness, twins
from lnbook.pages.beyond_covariate_shift.twins import Twins

SEEDS = (0, 1, 2)
X = torch.randn(3, 20, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.randint(3, (3, 20), generator=torch.Generator().manual_seed(1))


def stepped(norm: str, s: int, t: float) -> tuple[torch.Tensor, torch.Tensor]:
    """One start's loss and gradient, as a vector, after a step of t against the gradient at its own place."""
    model, x, y = Twins([5, 7, 6, 3], norm, SEEDS[s : s + 1], dtype=torch.float64), X[s : s + 1], Y[s : s + 1]
    p = [q for q in model.parameters() if q.numel()]
    for q, slope in zip(p, torch.autograd.grad(twins.loss(model(x), y), p), strict=True):
        q.data -= t * slope
    value = twins.loss(model(x), y)
    return value.detach(), torch.cat([v.flatten() for v in torch.autograd.grad(value, p)])


@pytest.mark.parametrize("norm", ["none", "batch", "layer"])
def test_sharpness_is_the_largest_change_of_the_gradient_over_the_distance(norm) -> None:
    found = smoothness.sharpness(Twins([5, 7, 6, 3], norm, SEEDS, dtype=torch.float64), X, Y, 0.1)
    for s in range(3):
        _, at = stepped(norm, s, 0.0)
        slow = [(stepped(norm, s, t)[1] - at).norm() / (t * at.norm()) for t in (0.05, 0.1, 0.2, 0.4)]
        torch.testing.assert_close(found[s], torch.stack(slow).max())


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_half_of_the_promise_comes_true_at_the_reach(norm) -> None:
    found = smoothness.reach(Twins([5, 7, 6, 3], norm, SEEDS, dtype=torch.float64), X, Y)
    for s in range(3):
        before, g = stepped(norm, s, 0.0)
        # interpolated between shares that differ by a factor of two
        shares = float(found[s]) / 2, 2 * float(found[s])
        afters = [stepped(norm, s, share * float(before / g.square().sum()))[0] for share in shares]
        near, far = (float((before - a) / (b * before)) for a, b in zip(afters, shares, strict=True))
        assert near > 0.5 > far


def test_a_measure_that_depends_on_the_loss_alone_is_equal_at_equal_losses() -> None:
    def run(rate: float) -> dict[str, np.ndarray]:
        loss = 2.3 * np.exp(-rate * np.arange(30.0))[None]
        return {"loss": loss, "reach": loss**-0.7}

    found = smoothness.matched({"slow": run(0.05), "fast": run(0.2)})
    np.testing.assert_allclose(found["slow"], found["fast"], rtol=1e-9)  # both are straight lines in logs
    middle = math.sqrt(2.3 * 2.3 * math.exp(-0.05 * 29))
    np.testing.assert_allclose(found["slow"], middle**-0.7, rtol=1e-9)
