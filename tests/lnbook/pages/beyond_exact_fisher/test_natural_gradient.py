"""Natural gradients on digits: each direction against autograd or a dense solve, and the tuning."""

import pytest
import torch
from torch.func import jacrev, vmap
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_exact_fisher import natural_gradient as learn
from lnlib.fisher import fisher, printed_eq13
from lnlib.glm import GLM
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


def matrix(method: str, glm: GLM, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """What the directions are solved with: dense, and by autograd."""
    if method in ("natural", "printed"):
        return {"natural": fisher, "printed": printed_eq13}[method](glm, x)
    if method == "empirical":

        def losses(theta: torch.Tensor) -> torch.Tensor:
            return cross_entropy(glm.with_theta(theta).natural(x), y, reduction="none")

        J = torch.autograd.functional.jacobian(losses, glm.theta)
        return J.mT @ J / len(x)
    C, unit = glm.covariance(x), layer_norm(x @ glm.W.mT, eps=0.0)
    outputs = vmap(jacrev(lambda a: glm.gain * layer_norm(a, eps=0.0)))(x @ glm.W.mT)
    factor = torch.kron((outputs.mT @ C @ outputs).mean(0), x.mT @ x / len(x))
    blocks = factor, C.mean(0), (unit[:, :, None] * C * unit[:, None]).mean(0)
    places = torch.arange(len(glm.theta), dtype=torch.float64).split([len(F) for F in blocks])
    order = glm.pack(places[0].view_as(glm.W), *places[1:]).long()  # units one after the other
    return torch.block_diag(*blocks)[order][:, order]


@pytest.mark.parametrize("method", ["natural", "printed", "kfac", "empirical"])
def test_directions_solve_the_damped_system(batch, method) -> None:
    glm, x, y = batch
    theta = glm.theta.requires_grad_()
    (g,) = torch.autograd.grad(cross_entropy(glm.with_theta(theta).natural(x), y), theta)
    torch.testing.assert_close(learn.direction("sgd", *batch, 0.0), g)
    F, d = matrix(method, *batch), learn.direction(method, *batch, 0.03)
    exact = torch.linalg.solve(F + 0.03 * torch.eye(len(F)), g)
    if method in ("natural", "printed"):
        # 0.1: the solver stops at a residual of 1 % of g, and the condition number is about 100.
        assert (d - exact).norm() <= 0.1 * exact.norm()
        assert (F @ d + 0.03 * d - g).norm() <= 0.0101 * g.norm()
    else:  # 1e-8: the entries are of size 1, and the condition number is about 1000
        torch.testing.assert_close(d, exact, rtol=1e-6, atol=1e-8)


def test_tuning_drops_a_rate_that_fails_on_one_seed(task, monkeypatch) -> None:
    monkeypatch.setattr(learn, "RATES", (1e-4, 1.0, 1e6))
    assert learn.tune(task, "sgd", (0, 1), 10, 0.01) == (1.0, 0.0)
