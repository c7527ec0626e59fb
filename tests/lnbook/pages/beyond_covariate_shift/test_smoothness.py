"""Sharpness, reach and largest eigenvalues against plain loops and whole matrices."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from lnbook.pages.beyond_covariate_shift import smoothness, twins
from lnbook.pages.beyond_covariate_shift.twins import Twins
from lnlib import LayerNorm, layer_norm
from lnlib.fisher import GGN

SEEDS = (0, 1, 2)
X = torch.randn(3, 20, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.randint(3, (3, 20), generator=torch.Generator().manual_seed(1))


def stepped(norm: str, s: int, t: float) -> tuple[torch.Tensor, torch.Tensor]:
    """One start's loss and gradient, as a vector, after a step of t against the gradient at its own place."""
    model, x, y = Twins([5, 7, 6, 3], norm, SEEDS[s : s + 1], dtype=torch.float64), X[s : s + 1], Y[s : s + 1]
    p = [q for q in model.parameters() if q.requires_grad]
    for q, slope in zip(p, torch.autograd.grad(twins.loss(model(x), y), p), strict=True):
        q.data -= t * slope
    value = twins.loss(model(x), y)
    return value.detach(), torch.cat([v.flatten() for v in torch.autograd.grad(value, p)])


@pytest.mark.parametrize("norm", ["none", "batch", "layer"])
def test_the_gradient_changes_most_by_the_sharpness_and_half_of_the_promise_comes_true_at_the_reach(norm):
    model = Twins([5, 7, 6, 3], norm, SEEDS, dtype=torch.float64)
    sharp, far = smoothness.sharpness(model, X, Y, 0.1), smoothness.reach(model, X, Y)
    for s in range(3):
        before, g = stepped(norm, s, 0.0)
        slow = [(stepped(norm, s, t)[1] - g).norm() / (t * g.norm()) for t in (0.05, 0.1, 0.2, 0.4)]
        torch.testing.assert_close(sharp[s], torch.stack(slow).max())
        # interpolated between shares that differ by a factor of two
        shares = float(far[s]) / 2, 2 * float(far[s])
        afters = [stepped(norm, s, share * float(before / g.square().sum()))[0] for share in shares]
        kept = [float((before - a) / (b * before)) for a, b in zip(afters, shares, strict=True)]
        assert kept[0] > 0.5 > kept[1]


def test_a_measure_that_depends_on_the_loss_alone_is_equal_at_equal_losses() -> None:
    def run(rate: float) -> dict[str, np.ndarray]:
        loss = 2.3 * np.exp(-rate * np.arange(30.0))[None]
        return {"loss": loss, "reach": loss**-0.7}

    found = smoothness.matched({"slow": run(0.05), "fast": run(0.2)})
    np.testing.assert_allclose(found["slow"], found["fast"], rtol=1e-9)  # both are straight lines in logs
    middle = math.sqrt(2.3 * 2.3 * math.exp(-0.05 * 29))
    np.testing.assert_allclose(found["slow"], middle**-0.7, rtol=1e-9)


def test_the_largest_eigenvalue_is_that_of_the_whole_fisher_matrix_of_a_network_that_ends_in_a_norm():
    generator = torch.Generator().manual_seed(3)
    weights = [torch.randn(H, 6, generator=generator, dtype=torch.float64) for H in (6, 6, 4)]
    x = torch.randn(5, 6, generator=generator, dtype=torch.float64)
    layers = []
    for W in weights:
        layers += [nn.Linear(W.shape[1], W.shape[0], bias=False, dtype=W.dtype), nn.ReLU()]
        layers[-2].weight.data = W
    norm = LayerNorm(4, eps=0.0, elementwise_affine=False)
    expected = torch.linalg.eigvalsh(GGN(nn.Sequential(*layers[:-1], norm), x, "gaussian").to_dense())[-1]
    found = smoothness.largest_eigenvalue(weights, x, lambda z: layer_norm(z, eps=0.0))
    # rounding of Lanczos' method and of matrices that are multiplied in another order
    assert found == pytest.approx(float(expected), rel=1e-10)
