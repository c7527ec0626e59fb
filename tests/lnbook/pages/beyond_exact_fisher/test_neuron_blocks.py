"""The Fisher matrix of a small deep network: against the divergence, and by what its steps deliver."""

import pytest
import torch
from torch.autograd.functional import hessian

from lnbook.pages.beyond_exact_fisher import neuron_blocks

SIZES = (3, 4, 4, 10)


def cases() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    return X, torch.randint(10, (6,), generator=generator)


@pytest.mark.parametrize("norm", ["layer", None])
def test_the_matrix_is_the_second_derivative_of_the_divergence(norm) -> None:
    X, _ = cases()
    theta = neuron_blocks.start(SIZES, norm, seed=1)
    before = neuron_blocks.logits(theta, X, SIZES, norm).log_softmax(-1)

    def divergence(moved: torch.Tensor) -> torch.Tensor:
        after = neuron_blocks.logits(moved, X, SIZES, norm).log_softmax(-1)
        return (before.exp() * (before - after)).sum(1).mean()

    truth = hessian(divergence, theta)
    # 1e-12: sums of 60 products of numbers around 1, in float64.
    assert float((neuron_blocks.fisher(theta, X, SIZES, norm) - truth).norm() / truth.norm()) < 1e-12
