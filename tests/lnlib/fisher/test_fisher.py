"""The exact matrix three ways, the printed one where it is exact and where it is not, and its edges."""

from dataclasses import replace
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
    """A first case of weight 0 among others."""
    return draw(len(X), seed=99).abs() * (torch.arange(len(X)) > 0) if weighted else None


def hessian_of_kl(glm: GLM, X: Tensor, weights: Tensor | None = None) -> Tensor:
    return torch.autograd.functional.hessian(lambda t: kl(glm, glm.with_theta(t), X, weights), glm.theta)


@every_model
@pytest.mark.parametrize("weighted", [False, True])
def test_the_closed_form_is_the_definition_and_the_hessian_of_the_divergence(family, norm, weighted):
    """The definition enumerates every outcome."""
    spreads = [0.0] if norm in (None, "weight") else [0.0, 0.3]
    for eps, (N, D, H) in product(spreads, [(5, 2, 3), (2, 6, 4), (7, 1, 2)]):
        glm, X = model(family, norm, N=N, D=D, H=H, eps=eps, seed=1)
        weights = weights_for(X, weighted)
        F = fisher(glm, X, weights)
        assert relative(F, hessian_of_kl(glm, X, weights)) <= ROUNDING
        if H == 3:
            assert relative(F, fisher_from_definition(glm, X, weights)) <= ROUNDING


@pytest.mark.parametrize("family", ["gaussian, variance", "bernoulli", "poisson", "gamma", "categorical"])
@pytest.mark.parametrize("norm", [None, "batch", "weight", "layer"])
def test_the_printed_matrices_are_eq12_and_eq13_with_eq14(family, norm):
    glm, X = model(family, norm)
    a, outputs = X @ glm.W.mT, (glm.covariance(X).numpy(), float(glm.dispersion))
    if norm is None:
        literal = eq.eq12(X.numpy(), *outputs)
        assert_allclose(fisher(glm, X).numpy(), literal, rtol=ROUNDING, atol=ROUNDING)
        return
    if norm == "weight":
        mean, std = torch.zeros(1, 3, dtype=X.dtype), glm.W.norm(dim=1)[None]
    else:
        axis = {"batch": 0, "layer": 1}[norm]
        mean, std = a.mean(axis, keepdim=True), a.var(axis, unbiased=False, keepdim=True).sqrt()
    arrays = (t.numpy() for t in (a, mean, std, glm.gain, chi(glm, X)))
    literal = eq.eq13(*arrays, *outputs)
    assert_allclose(printed_eq13(glm, X).numpy(), literal, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("eps", [0.0, 0.3])
@pytest.mark.parametrize("norm", ["batch", "weight", "layer", "rms"])
def test_chi_is_what_moving_its_own_row_does_to_a_normalized_input(norm, eps):
    """chi_i = (std_i / g_i) dz_i / dw_i, by autograd through mean and standard deviation."""
    glm, X = model("gaussian", norm, eps=0.0 if norm == "weight" else eps)
    J = torch.autograd.functional.jacobian(lambda W: replace(glm, W=W).natural(X), glm.W)
    own = torch.stack([J[:, i, i] for i in range(len(glm.b))], 1)  # (N, H, D)
    assert relative(chi(glm, X), own / linearize(glm, X).scale[:, :, None]) <= ROUNDING


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
    view = replace(glm, W=W)
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
    glm = replace(glm, W=glm.W.requires_grad_())
    operator, v = FisherOperator(glm, X), torch.ones_like(glm.theta)
    products = [operator @ v, operator.diagonal(), operator.solve(v.detach(), 1.0)]
    assert not any(t.requires_grad for t in (fisher(glm, X), printed_eq13(glm, X), *products))
    assert kl(glm, glm, X).requires_grad


def without_spread(family: str, norm: str, eps: float = 0.0) -> tuple[GLM, Tensor]:
    """Cases of which the first (of batch norm all, for the first unit) have nothing to divide by."""
    glm, X = model(family, norm, eps=eps)
    W = glm.W.clone()
    if norm == "batch":
        X[:, 0], W[0, 1] = 0.1, 0  # whose mean rounds
    elif norm == "layer":
        X[0], W[:, 0] = torch.tensor([1.0, 0.0]), 0.1  # a = (0.1, 0.1, 0.1)
    else:
        X[0] = 0
    return replace(glm, W=W), X


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("norm", ["batch", "layer", "rms"])
def test_a_unit_or_case_without_spread_adds_the_bias_only(family, norm):
    """eps = 0: the normalized value is 0 by definition and does not move, as for lnlib.layer_norm."""
    glm, X = without_spread(family, norm)
    assert relative(fisher(glm, X), hessian_of_kl(glm, X)) <= ROUNDING
    units, cases = (slice(1), X) if norm == "batch" else (slice(None), X[:1])
    blocks = fisher(glm, cases).view(3, 4, 3, 4)[units]
    assert float(blocks[:, [0, 1, 3]].abs().max()) == 0
    assert relative(blocks[:, 2, :, 2], glm.scaled_covariance(cases).dense().mean(0)[units]) <= ROUNDING
    glm, X = without_spread(family, norm, eps=0.1)  # with which they move
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
    G = fisher(replace(glm, W=glm.W * size), X).view(3, 4, 3, 4)
    # In the units of W: one factor 1 / size for each side that is a weight; two can leave the range.
    assert relative(G[:, 2:, :, 2:], F[:, 2:, :, 2:]) <= ROUNDING
    assert relative(G[:, :2, :, 2:] * size, F[:, :2, :, 2:]) <= ROUNDING
