"""The exact matrix three ways, the printed one where it is exact and where it is not, and its edges."""

from itertools import product

import pytest
import torch
from glms import FAMILIES, NORMS, draw, fisher_from_definition, model, relative
from numpy.testing import assert_allclose
from torch import Tensor

import lnlib.equations as eq
from lnlib import GLM
from lnlib.fisher import FisherOperator, chi, fisher, kl, linearization, printed_eq13
from lnlib.fisher.linearization import linearize

pytestmark = pytest.mark.grid

ROUNDING = 1e-12  # relative: sums of some thousand products; measured 1e-16 to 1e-14
every_model = pytest.mark.parametrize(("family", "norm"), list(product(FAMILIES, NORMS)))


def weights_for(X: Tensor, weighted: bool) -> Tensor | None:
    return draw(len(X), seed=99).abs() if weighted else None


def eps_for(norm: str | None) -> list[float]:
    return [0.0] if norm in (None, "weight") else [0.0, 0.3]


def hessian_of_kl(glm: GLM, X: Tensor, weights: Tensor | None = None) -> Tensor:
    return torch.autograd.functional.hessian(lambda t: kl(glm, glm.with_theta(t), X, weights), glm.theta)


# --- three ways ------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("weighted", [False, True])
def test_the_closed_form_is_the_definition_with_every_outcome_enumerated(family, norm, weighted):
    for eps in eps_for(norm):
        glm, X = model(family, norm, eps=eps)
        weights = weights_for(X, weighted)
        assert relative(fisher(glm, X, weights), fisher_from_definition(glm, X, weights)) <= ROUNDING


@every_model
@pytest.mark.parametrize("weighted", [False, True])
def test_the_closed_form_is_the_hessian_of_the_divergence(family, norm, weighted):
    for eps, (N, D, H) in product(eps_for(norm), [(5, 2, 3), (2, 6, 4), (7, 1, 2)]):
        glm, X = model(family, norm, N=N, D=D, H=H, eps=eps, seed=1)
        weights = weights_for(X, weighted)
        assert relative(fisher(glm, X, weights), hessian_of_kl(glm, X, weights)) <= ROUNDING


# --- the paper ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian, variance", "bernoulli", "poisson", "gamma", "categorical"])
def test_without_a_norm_it_is_eq12(family):
    glm, X = model(family)
    literal = eq.eq12(X.numpy(), glm.covariance(X).numpy(), float(glm.dispersion))
    assert_allclose(fisher(glm, X).numpy(), literal, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("family", ["gaussian, variance", "bernoulli", "poisson", "gamma", "categorical"])
@pytest.mark.parametrize("norm", ["batch", "weight", "layer"])
def test_the_printed_matrix_is_eq13_with_eq14(family, norm):
    glm, X = model(family, norm)
    a = X @ glm.W.mT
    if norm == "weight":
        mean, std = torch.zeros(1, 3, dtype=X.dtype), glm.W.norm(dim=1)[None]
    else:
        axis = {"batch": 0, "layer": 1}[norm]
        mean, std = a.mean(axis, keepdim=True), a.var(axis, unbiased=False, keepdim=True).sqrt()
    literal = eq.eq13(
        a.numpy(),
        mean.numpy(),
        std.numpy(),
        glm.gain.numpy(),
        chi(glm, X).numpy(),
        glm.covariance(X).numpy(),
        float(glm.dispersion),
    )
    assert_allclose(printed_eq13(glm, X).numpy(), literal, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("eps", [0.0, 0.3])
@pytest.mark.parametrize("norm", ["batch", "weight", "layer", "rms"])
def test_chi_is_what_moving_its_own_row_does_to_a_normalized_input(norm, eps):
    """chi_i = (std_i / g_i) dz_i / dw_i, by autograd through mean and standard deviation."""
    glm, X = model("gaussian", norm, eps=0.0 if norm == "weight" else eps)
    J = torch.autograd.functional.jacobian(lambda W: GLM(**{**options(glm), "W": W}).natural(X), glm.W)
    own = torch.stack([J[:, i, i] for i in range(len(glm.b))], 1)  # (N, H, D)
    assert relative(chi(glm, X), own / linearize(glm, X).scale[:, :, None]) <= ROUNDING


def options(glm: GLM) -> dict[str, object]:
    return {n: getattr(glm, n) for n in ("family", "W", "b", "dispersion", "norm", "gain", "eps")}


# --- edges -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_many_cases_are_added_up_in_parts(norm, monkeypatch):
    glm, X = model("categorical", norm, N=23)
    whole, diagonal = fisher(glm, X), FisherOperator(glm, X).diagonal()
    monkeypatch.setattr(linearization, "CHUNK_NUMBERS", 9 * 4)  # 4 cases
    assert relative(fisher(glm, X), whole) <= ROUNDING
    assert relative(FisherOperator(glm, X).diagonal(), diagonal) <= ROUNDING


@every_model
def test_views_equal_their_copies_and_nothing_is_modified(family, norm):
    glm, X = model(family, norm)
    weights = draw(len(X), seed=3).abs()
    F = fisher(glm, X, weights)
    strided = torch.empty(2 * len(X), 2 * X.shape[1], dtype=X.dtype)[::2, 1::2]
    strided.copy_(X)
    W = glm.W.mT.contiguous().mT
    kept = [t.clone() for t in (strided, W, glm.b, weights)]
    view = GLM(**{**options(glm), "W": W})
    assert relative(fisher(view, strided, weights), F) <= 1e-14
    printed_eq13(view, strided, weights)
    operator, v = FisherOperator(view, strided, weights), draw(2 * len(F), seed=1)[::2]
    kept.append(v.clone())
    for result in (operator @ v, operator.solve(v, 0.1)):
        assert result.shape == v.shape
    operator.null_space()
    assert all(torch.equal(t, k) for t, k in zip((strided, W, glm.b, weights, v), kept, strict=True))


@every_model
def test_float32_keeps_five_digits(family, norm):
    glm, X = model(family, norm, N=50)
    single, X32 = model(family, norm, N=50, dtype=torch.float32)
    F = fisher(single, X32)
    assert F.dtype == torch.float32
    # 1e-5: 2^-24 = 6e-8 times the digits that differences of inputs and of moments lose
    assert relative(F.double(), fisher(glm, X)) <= 1e-5


def test_parameters_that_want_gradients_get_a_matrix_without_one():
    glm, X = model("categorical", "layer")
    glm = GLM("categorical", glm.W.requires_grad_(), glm.b, norm="layer", gain=glm.gain)
    operator = FisherOperator(glm, X)
    v = torch.ones(operator.shape[0], dtype=X.dtype)
    results = [
        fisher(glm, X),
        printed_eq13(glm, X),
        operator @ v,
        operator.diagonal(),
        operator.solve(v, 1.0),
    ]
    assert not any(t.requires_grad for t in results)
    assert kl(glm, glm, X).requires_grad


@pytest.mark.parametrize("family", FAMILIES)
def test_a_constant_row_under_layer_norm_adds_the_bias_only(family):
    """eps = 0: the normalized row is 0 by definition and does not move, as for lnlib.layer_norm."""
    glm, X = model(family, "layer", N=3)
    W = torch.full_like(glm.W, 0.1) + torch.tensor([[0.0, 1.0], [0.0, -2.0], [0.0, 0.5]])
    glm = GLM(**{**options(glm), "W": W})
    constant = torch.tensor([[1.0, 0.0]], dtype=X.dtype)  # a = (0.1, 0.1, 0.1), whose mean rounds
    F = fisher(glm, constant)
    blocks = F.view(3, 4, 3, 4)
    assert torch.isfinite(F).all()
    assert float(blocks[:, :2].abs().max()) == 0
    assert float(blocks[:, 3].abs().max()) == 0
    assert torch.equal(blocks[:, 2, :, 2], glm.scaled_covariance(constant).dense()[0])
    assert relative(F, hessian_of_kl(glm, constant)) <= ROUNDING
    mixed = torch.cat([X, constant])
    assert relative(fisher(glm, mixed), hessian_of_kl(glm, mixed)) <= ROUNDING


@pytest.mark.parametrize("norm", ["batch", "rms"])
def test_a_unit_or_case_without_size_adds_the_bias_only(norm):
    glm, X = model("poisson", norm)
    if norm == "rms":
        X[2] = 0
    else:
        X[:, 0] = 0.1  # constant, and its mean rounds
        glm = GLM(**{**options(glm), "W": glm.W * torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])})
    F = fisher(glm, X)
    assert torch.isfinite(F).all()
    assert relative(F, hessian_of_kl(glm, X)) <= ROUNDING
    if norm == "batch":
        assert float(F.view(3, 4, 3, 4)[0, :2].abs().max()) == 0


@pytest.mark.parametrize("norm", ["batch", "layer", "rms"])
def test_a_constant_row_moves_once_there_is_an_eps(norm):
    glm, X = model("bernoulli", norm, eps=0.1)
    X = torch.zeros_like(X) + (0.0 if norm == "rms" else torch.tensor([1.0, 0.0]))
    glm = GLM(**{**options(glm), "W": torch.full_like(glm.W, 0.1)})
    assert relative(fisher(glm, X), hessian_of_kl(glm, X)) <= ROUNDING


@every_model
@pytest.mark.parametrize(("N", "D", "H"), [(1, 3, 3), (6, 1, 1), (2, 1, 2), (1, 1, 1)])
def test_one_case_one_feature_one_unit_are_no_special_cases(family, norm, N, D, H):
    glm, X = model(family, norm, N=N, D=D, H=H)
    F, true = fisher(glm, X), hessian_of_kl(glm, X)
    assert float((F - true).abs().max()) <= ROUNDING * max(1.0, float(true.abs().max()))


@pytest.mark.parametrize("norm", ["layer", "rms", "weight"])
@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200])
def test_weights_of_any_magnitude_give_the_matrix_of_plain_ones_rescaled(norm, size):
    glm, X = model("categorical", norm)
    F = fisher(glm, X).view(3, 4, 3, 4)
    G = fisher(GLM(**{**options(glm), "W": glm.W * size}), X).view(3, 4, 3, 4)
    # In the units of W: one factor 1 / size for each side that is a weight; two can leave the range.
    assert relative(G[:, 2:, :, 2:], F[:, 2:, :, 2:]) <= ROUNDING
    assert relative(G[:, :2, :, 2:] * size, F[:, :2, :, 2:]) <= ROUNDING
