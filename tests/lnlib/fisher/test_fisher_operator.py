"""The operator against its dense matrix: products, diagonal, solves, SciPy's solvers, and what it refuses."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from glms import FAMILIES, NORMS, draw, model, relative
from numpy.testing import assert_allclose
from scipy.sparse.linalg import cg, eigsh, svds
from torch import Tensor

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher, operator, printed_eq13
from lnlib.fisher.operator import factor

pytestmark = pytest.mark.grid

ROUNDING = 1e-12  # relative: sums of some hundred products
every_model = pytest.mark.parametrize(("family", "norm"), list(product(FAMILIES, NORMS)))
users_call = pytest.mark.usefixtures("as_users_call")


def both(family: str, norm: str | None, **sizes: int) -> tuple[FisherOperator, Tensor]:
    glm, X = model(family, norm, **sizes)
    weights = draw(len(X), seed=9).abs() * (torch.arange(len(X)) != 1)  # the second sees nothing
    return FisherOperator(glm, X, weights), fisher(glm, X, weights)


@every_model
def test_products_diagonal_trace_and_factor_are_those_of_the_matrix(family, norm, monkeypatch):
    F, dense = both(family, norm)
    V = draw(F.shape[0], 7, seed=1)
    assert F.shape == dense.shape
    assert F.dtype == dense.dtype
    assert relative(F @ V[:, 0], dense @ V[:, 0]) <= ROUNDING
    assert relative(F @ V, dense @ V) <= ROUNDING
    assert relative(F.diagonal(), dense.diagonal()) <= ROUNDING
    assert F.trace() == pytest.approx(float(dense.trace()), rel=ROUNDING)
    assert torch.equal(F.to_dense(), dense)
    B = torch.cat(list(factor(F.linearization, F.covariance)))
    assert relative(B.mT @ B, dense) <= ROUNDING
    monkeypatch.setattr(operator, "CHUNK_NUMBERS", 40)  # two columns at a time
    assert relative(F @ V, dense @ V) <= ROUNDING
    assert (F @ V[:, :0]).shape == (F.shape[0], 0)


@pytest.mark.parametrize("norm", ["layer", "rms", "batch"])
def test_the_printed_matrix_has_an_operator_too(norm):
    glm, X = model("categorical", norm)
    F, dense = FisherOperator(glm, X, printed=True), printed_eq13(glm, X)
    v = draw(F.shape[0], seed=1)
    assert relative(F @ v, dense @ v) <= ROUNDING
    assert relative(F.diagonal(), dense.diagonal()) <= ROUNDING
    assert relative(F.to_dense(), dense) <= ROUNDING
    different = relative(F @ v, FisherOperator(glm, X) @ v)
    assert (different > 0.1) == (norm != "batch")


def test_confident_classes_in_float32_keep_their_curvature():
    """1 - p = 1e-9 is below the round-off of p = 1: the plain formula's matrix is off by its whole size."""
    X = draw(20, 3)
    W, b = draw(2, 3, seed=1) / 4, torch.tensor([20.0, 0.0], dtype=torch.float64)
    true = fisher(GLM("categorical", W, b), X)
    glm, X32 = GLM("categorical", W.float(), b.float()), X.float()
    v = draw(8, seed=2)
    assert relative(fisher(glm, X32).double(), true) <= 1e-5
    assert relative((FisherOperator(glm, X32) @ v.float()).double(), true @ v) <= 1e-5
    assert relative(FisherOperator(glm, X32).diagonal().double(), true.diagonal()) <= 1e-5
    p = torch.softmax(glm.natural(X32), 1)
    plain = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    assert float(plain[:, 0, 0].max()) < 0.2 * float(glm.scaled_covariance(X32).variance()[:, 0].max())


@pytest.mark.parametrize("side", ["parameters", "outputs"])
@every_model
def test_solves_reach_round_off_on_either_side(family, norm, side):
    N, D = {"parameters": (12, 2), "outputs": (2, 12)}[side]
    F, dense = both(family, norm, N=N, D=D)
    assert (F.shape[0] > 3 * N) == (side == "outputs")
    u = draw(F.shape[0], seed=1)
    for v, damping in product((u, dense @ u), (1e-6, 1.0, 100.0)):  # the second needs the corrections
        x = F.solve(v, damping)
        A = dense + damping * torch.eye(len(v), dtype=v.dtype)
        size = torch.linalg.matrix_norm(dense, 2) * x.norm() + v.norm()
        assert float((A @ x - v).norm() / size) <= 1e-14  # 50 roundings
        # and so the solution: to round-off times the condition number of F + damping
        assert relative(x, torch.linalg.solve(A, v)) <= 1e-13 * float(torch.linalg.cond(A))


def test_float32_solves_reach_its_round_off():
    for N, D in ((40, 3), (4, 60)):
        glm, X = model("categorical", "layer", N=N, D=D, dtype=torch.float32)
        F = FisherOperator(glm, X)
        v = draw(F.shape[0], seed=1, dtype=torch.float32)
        x = F.solve(v, 1e-3)
        residual = F @ x + 1e-3 * x - v
        assert float(residual.norm()) <= 1e-6 * float(F.trace() * x.norm() + v.norm())


@pytest.mark.parametrize(("H", "D", "tiny"), [(4, 2, 1e-12), (4, 60, 1e-16)])
def test_a_damping_that_disappears_beside_f_is_an_error_not_zeros(H, D, tiny):
    """On the parameters' side and on the outputs', where v - B'(...)Bv is noise below the round-off of F."""
    glm, X = model("bernoulli", "layer", N=30 if D == 2 else 5, H=H, D=D, dtype=torch.float32)
    F = FisherOperator(glm, 100 * X)
    with pytest.raises(
        ValueError, match=r"damping .* disappears beside entries of F of .* in torch.float32; give"
    ):
        F.solve(draw(F.shape[0], seed=1, dtype=torch.float32), tiny)


def test_scipys_solvers_run_on_it():
    F, dense = both("categorical", "layer", N=30, D=4)
    A, matrix = F.to_scipy(), dense.numpy()
    assert A.shape == matrix.shape
    assert A.dtype == matrix.dtype == np.float64
    V = draw(F.shape[0], 3, seed=1).numpy()
    for found, true in ((A @ V[:, 0], matrix @ V[:, 0]), (A @ V, matrix @ V), (A.H @ V, matrix @ V)):
        assert_allclose(found, true, rtol=1e-11, atol=1e-13)
    V.flags.writeable = False
    for w in (V[:, 0], V[::-1, 0]):  # read-only and reversed
        # the operator against the matrix: a few units of round-off of some 20 terms
        assert_allclose(A @ w, matrix @ w, rtol=1e-12, atol=1e-12)
    with pytest.raises(TypeError, match="F is real and the vector complex128"):
        A.matvec(V[:, 0] * 1j)
    start = np.ones(len(matrix))
    top = np.linalg.eigvalsh(matrix)[-3:]
    assert_allclose(eigsh(A, k=3, v0=start, return_eigenvectors=False), top, rtol=1e-10)
    assert_allclose(np.sort(svds(A, k=3, v0=start, return_singular_vectors=False)), top, rtol=1e-10)
    v = matrix @ V[:, 0]
    x, failed = cg(A, v, rtol=1e-12, maxiter=1000)
    assert failed == 0
    assert_allclose(matrix @ x, v, rtol=0, atol=1e-10)


@users_call
@pytest.mark.parametrize(
    ("v", "error", "message"),
    [
        (np.ones(12), TypeError, r"give torch.float64 tensors, not ndarray; convert it, or use to_scipy"),
        (torch.ones(12), TypeError, r"give torch.float64 tensors, not torch.float32"),
        (torch.ones((), dtype=torch.float64), ValueError, r"the shape is \(\), and the model's P = 12"),
        (torch.ones(11, dtype=torch.float64), ValueError, r"shape is \(11,\), and .* make it \(12,\)"),
        (torch.ones(11, 2, dtype=torch.float64), ValueError, r"shape is \(11, 2\), and .* make it \(12,\)"),
    ],
)
def test_what_is_no_vector_of_parameters_is_refused(v, error, message):
    F, _ = both("gaussian", "layer")
    with pytest.raises(error, match=message):
        F @ v
    with pytest.raises(error, match=message):
        F.solve(v, 1.0)


@users_call
def test_a_solve_takes_a_positive_damping_and_a_finite_right_side():
    F, _ = both("gaussian", "layer")
    v = torch.ones(F.shape[0], dtype=F.dtype)
    for bad in (0.0, -1.0, math.nan, math.inf, True, "a"):
        with pytest.raises(
            ValueError, match=rf"damping is {bad!r}; F is singular for normalized models, give"
        ):
            F.solve(v, bad)
    for bad in (math.nan, math.inf):
        v[3] = bad
        with pytest.raises(ValueError, match="the right side contains NaN or infinity"):
            F.solve(v, 1.0)
