"""The pen's density: at its edges, and in the moments of what is drawn."""

import math

import pytest
import torch
from torch import Tensor

from lnbook.pages.sec6_5_handwriting.model import Mixture, draw, mixture, nll


def outputs(seed: int, components: int = 4, rows: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 6 * components + 1, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_wild_outputs_give_finite_losses_and_gradients(dtype: torch.dtype, size: float) -> None:
    y = (size * outputs(1).to(dtype)).requires_grad_()
    loss = nll(mixture(y), torch.tensor([[0.5, -3.0, 1.0]], dtype=dtype).expand(3, 3)).sum()
    loss.backward()
    assert torch.isfinite(loss)
    assert y.grad is not None
    assert torch.isfinite(y.grad).all()


def test_of_a_standard_normal_and_a_fair_coin_the_loss_is_known() -> None:
    found = nll(mixture(torch.zeros(7)), torch.zeros(3))
    assert float(found) == pytest.approx(math.log(2 * math.pi) + math.log(2))


def test_samples_have_the_moments_of_the_mixture() -> None:
    p = mixture(0.5 * outputs(7, components=3, rows=1))
    count = 200_000
    many = Mixture(*(part.expand(count, *part.shape[1:]) for part in p))
    points = draw(many, torch.Generator().manual_seed(0))
    weight, sigma = p.log_weight.exp()[0], p.log_std.exp()[0]
    mean = weight @ p.mean[0]
    correlation = torch.eye(2) + p.rho[0, :, None, None] * (1 - torch.eye(2))
    inner = sigma.unsqueeze(2) * sigma.unsqueeze(1) * correlation
    apart = p.mean[0] - mean
    covariance = torch.einsum("m,mij->ij", weight, inner + apart.unsqueeze(2) * apart.unsqueeze(1))
    # five standard errors of the means of 200,000 draws; for covariances of light tails twice that
    error = 5 * covariance.diagonal().sqrt().max().item() / count**0.5
    torch.testing.assert_close(points[:, :2].mean(0), mean, atol=error, rtol=0)
    torch.testing.assert_close(points[:, :2].T.cov(), covariance, atol=10 * error, rtol=0)
    assert float(points[:, 2].mean()) == pytest.approx(float(p.lift.sigmoid()), abs=5 * 0.5 / count**0.5)
