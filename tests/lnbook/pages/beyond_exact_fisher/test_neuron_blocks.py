"""The Fisher matrix of a small deep network: against the divergence, and by what its steps deliver."""

import numpy as np
import pytest
import torch
from torch.autograd.functional import hessian

from lnbook.pages.beyond_exact_fisher import drawings, neuron_blocks

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


def test_each_parameter_has_its_neuron() -> None:
    counts = neuron_blocks.neurons(SIZES, "layer").bincount().tolist()
    assert counts == [5] * 4 + [6] * 4 + [5] * 10
    assert len(neuron_blocks.neurons(SIZES, None)) == len(neuron_blocks.start(SIZES, None, 0))


@pytest.mark.parametrize("norm", ["layer", None])
def test_a_small_step_moves_the_predictions_as_the_matrix_says(norm) -> None:
    net = neuron_blocks.at_random_weights(*cases(), norm, 0, units=4)
    M = net.fisher
    step = -torch.linalg.solve(M + 0.01 * torch.eye(len(M), dtype=M.dtype), net.gradient)
    step *= (1e-6 / (step @ M @ step / 2)).sqrt()
    assert net.divergence(step) == pytest.approx(1e-6, rel=0.02)  # the next term is cubic in the step
    assert net.divergence(torch.zeros_like(step)) == 0


@pytest.mark.parametrize("norm", ["layer", None])
def test_the_gradient_is_that_of_the_loss(norm) -> None:
    X, labels = cases()
    net = neuron_blocks.at_random_weights(X, labels, norm, 0, units=4)
    theta = neuron_blocks.start(SIZES, norm, 0)
    p = neuron_blocks.logits(theta, X, SIZES, norm).softmax(-1)
    error = p - torch.nn.functional.one_hot(labels, 10)
    J = torch.autograd.functional.jacobian(lambda t: neuron_blocks.logits(t, X, SIZES, norm), theta)
    torch.testing.assert_close(net.gradient, torch.einsum("nk,nkp->p", error, J) / len(X))
    assert len(net.gradient) == len(net.neuron) == len(net.fisher)


def test_blocks_sort_the_parameters_by_kind() -> None:
    kind = np.tile([1.0, 2.0, 3.0], 2)  # w_1, b_1, g_1, w_2, b_2, g_2, of one input
    F = torch.tensor(np.outer(kind, kind)) / 9
    fig = drawings.blocks({"layer norm": F, "batch norm": F}, H=2, D=1)
    shown = np.asarray(fig.axes[0].images[0].get_array())
    np.testing.assert_allclose(np.diag(shown) * 9, [1, 1, 4, 4, 9, 9])
    assert [text.get_text() for text in fig.axes[0].get_xticklabels()] == ["w", "b", "g"]
