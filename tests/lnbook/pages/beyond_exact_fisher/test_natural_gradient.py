"""Natural gradients on digits: each direction against autograd or a dense solve, and the tuning."""

import pytest
import torch
from torch.func import jacrev, vmap
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_exact_fisher import natural_gradient as learn
from lnlib.fisher import fisher, printed_eq13
from lnlib.norms import layer_norm


@pytest.fixture(scope="module")
def task() -> learn.Task:
    return learn.digits()


@pytest.fixture(scope="module")
def batch(task):
    """A model of random gains, 40 cases and their labels."""
    generator = torch.Generator().manual_seed(3)
    glm = learn.start(generator)
    theta = glm.theta + 0.1 * torch.randn(len(glm.theta), generator=generator, dtype=torch.float64)
    return glm.with_theta(theta), task[0][:40], task[1][:40]


@pytest.mark.parametrize(("method", "matrix"), [("natural", fisher), ("printed", printed_eq13)])
def test_natural_directions_solve_the_damped_system(batch, method, matrix) -> None:
    glm, x, y = batch
    F = matrix(glm, x)
    g = learn.gradient(glm, x, y)
    exact = torch.linalg.solve(F + 0.03 * torch.eye(len(F)), g)
    d = learn.direction(method, glm, x, y, 0.03)
    # 0.1: the solver stops at a residual of 1 % of g, and the condition number is about 100.
    assert (d - exact).norm() <= 0.1 * exact.norm()
    assert (F @ d + 0.03 * d - g).norm() <= 0.0101 * g.norm()


def test_the_empirical_direction_solves_with_the_outer_products_of_autograds_gradients(batch) -> None:
    glm, x, y = batch
    theta = glm.theta

    def losses(theta: torch.Tensor) -> torch.Tensor:
        return cross_entropy(glm.with_theta(theta).natural(x), y, reduction="none")

    J = torch.autograd.functional.jacobian(losses, theta)
    F = J.mT @ J / len(x)
    exact = torch.linalg.solve(F + 0.1 * torch.eye(len(F)), J.mean(0))
    torch.testing.assert_close(learn.direction("empirical", glm, x, y, 0.1), exact, rtol=1e-6, atol=1e-9)


def test_the_factored_direction_solves_with_the_product_of_the_mean_factors(batch) -> None:
    glm, x, y = batch
    g, C = learn.gradient(glm, x, y), glm.covariance(x)
    outputs = vmap(jacrev(lambda a: glm.gain * layer_norm(a, eps=0.0)))(x @ glm.W.mT)
    S = (outputs.mT @ C @ outputs).mean(0)
    unit = layer_norm(x @ glm.W.mT, eps=0.0)
    blocks = torch.kron(S, x.mT @ x / len(x)), C.mean(0), (unit[:, :, None] * C * unit[:, None]).mean(0)
    found, wanted = glm.unpack(learn.direction("kfac", glm, x, y, 0.03)), glm.unpack(g)
    for F, d, slope in zip(blocks, found, wanted, strict=True):
        exact = torch.linalg.solve(F + 0.03 * torch.eye(len(F)), slope.flatten())
        # 1e-8: the entries are of size 1, and the condition number is about 1000
        torch.testing.assert_close(d.flatten(), exact, rtol=1e-6, atol=1e-8)


def test_tuning_drops_a_rate_that_fails_on_one_seed(task, monkeypatch) -> None:
    monkeypatch.setattr(learn, "RATES", (1e-4, 1.0, 1e6))
    assert learn.tune(task, "sgd", (0, 1), 10, 0.01) == (1.0, 0.0)
