"""Eqs. (8)-(14) and (32)-(35) against hand-computed cases, enumerated outcomes and finite differences."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lnlib.equations as eq

# Central differences with step h: error about h^2 of third derivatives near 1, and 1e-16 / h of rounding.
STEP, DIFFERENCES = 1e-5, {"rtol": 0, "atol": 1e-8}
ROUNDING = {"rtol": 1e-12, "atol": 1e-12}  # sums of a few hundred products of numbers near 1


def logistic(z: np.ndarray | float) -> np.ndarray | float:
    return 1 / (1 + np.exp(-z))


def derivative(function: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> np.ndarray:
    """Rows of the result are the outputs, columns the parameters."""
    steps = STEP * np.eye(len(theta))
    return np.stack([(function(theta + s) - function(theta - s)) / (2 * STEP) for s in steps], -1)


def scalars(norm: str, X: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """mu and sigma of all cases, in one line a method."""
    a = X @ W.T
    if norm == "weight":
        return np.zeros((1, len(W))), np.linalg.norm(W, axis=1)[None]
    axis = 0 if norm == "batch" else 1
    return a.mean(axis, keepdims=True), a.std(axis, keepdims=True)


def normalized(norm: str, X: np.ndarray, W: np.ndarray) -> np.ndarray:
    mu, sigma = scalars(norm, X, W)
    return (X @ W.T - mu) / sigma


class Model:
    """Bernoulli outputs on a few cases: everything that Eqs. (9) and (13) ask for."""

    def __init__(self, norm: str, N: int = 4, H: int = 3, D: int = 2, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.norm, self.H, self.D = norm, H, D
        self.X, self.W = rng.normal(size=(N, D)) + 0.5, rng.normal(size=(H, D))
        self.b, self.g = rng.normal(size=H), rng.normal(size=H)
        self.a = self.X @ self.W.T
        p = logistic(self.z(self.theta))
        self.cov = np.stack([np.diag(q * (1 - q)) for q in p])
        self.p = p

    @property
    def theta(self) -> np.ndarray:
        return np.column_stack([self.W, self.b, self.g]).ravel()

    def z(self, theta: np.ndarray) -> np.ndarray:
        rows = theta.reshape(self.H, self.D + 2)
        return rows[:, -1] * normalized(self.norm, self.X, rows[:, : self.D]) + rows[:, -2]

    def scalars(self) -> tuple[np.ndarray, np.ndarray]:
        return scalars(self.norm, self.X, self.W)

    def chi(self) -> np.ndarray:
        mu, sigma = (np.broadcast_to(s, self.a.shape) for s in self.scalars())
        given = {"batch": eq.eq14_batch(self.X, self.a), "weight": eq.eq14_weight(self.W)}
        rows = []
        for n, (x, a) in enumerate(zip(self.X, self.a, strict=True)):
            derivatives = given.get(self.norm) or eq.eq14_layer(x, a)
            rows.append(eq.eq14(x, a, mu[n], sigma[n], *derivatives))
        return np.stack(rows)

    def printed(self) -> np.ndarray:
        return eq.eq13(self.a, *self.scalars(), self.g, self.chi(), self.cov, 1.0)

    def defined(self) -> np.ndarray:
        """Eq. (9), outcomes enumerated and scores by differences: no formula of Section 5.2 takes part."""
        J = derivative(self.z, self.theta)

        def case(x: np.ndarray) -> int:
            return int(np.flatnonzero((x == self.X).all(1))[0])

        def outcomes(x: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
            p = self.p[case(x)]
            for y in product((0.0, 1.0), repeat=self.H):
                yield np.array(y), float(np.prod(np.where(y, p, 1 - p)))

        return eq.eq9(self.X, outcomes, lambda y, x: J[case(x)].T @ (y - self.p[case(x)]))


def test_eq8_with_eq9_is_the_divergence_of_two_coins_up_to_third_order() -> None:
    def kl(p: float, q: float) -> float:
        return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))

    theta, p = -1.0, float(logistic(-1.0))
    F = eq.eq9(np.zeros((1, 1)), lambda x: [(0.0, 1 - p), (1.0, p)], lambda y, x: np.array([y - p]))
    errors = [kl(p, float(logistic(theta + d))) - eq.eq8(F, np.array([d])) for d in (0.02, 0.01)]
    # the remainder is eta'''(-1) d^3 / 6 (1 + O(d)): halving d divides it by 8 (1 + O(d))
    assert errors[0] == pytest.approx(p * (1 - p) * (1 - 2 * p) * 0.02**3 / 6, rel=0.05)
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.05)


def test_the_left_side_of_eq8_differs_from_case_to_case_and_its_mean_is_the_right_side() -> None:
    # one Gaussian unit with variance 1: the divergence is (w x)^2 / 2 for a step w, exactly
    X, step = np.array([[1.0], [3.0]]), np.array([0.5, 0.0])
    F = eq.eq12(X, np.ones((2, 1, 1)), 1.0)
    by_case = 0.5 * (X @ step[:1]) ** 2
    assert by_case[0] != by_case[1]
    assert eq.eq8(F, step) == by_case.mean() == 0.625


@pytest.mark.parametrize("phi", [0.5, 2.0])
def test_eq10_sums_to_one_and_has_the_moments_of_eq11(phi: float) -> None:
    # Poisson counts in steps of phi: y = k phi, eta = exp
    a, b, log_factorial = 0.3, -0.1, np.cumsum(np.log(np.arange(1, 80)))

    def c(y: float, phi: float) -> float:
        k = round(y / phi)
        return -k * np.log(phi) - (log_factorial[k - 1] if k else 0.0)

    y = phi * np.arange(80)  # the mean count is below 3: what lies beyond 80 is under 1e-60
    P = np.exp([eq.eq10(v, a, b, phi, np.exp, c) for v in y])
    mean, var = eq.eq11(a, b, phi, np.exp, np.exp)
    assert P.sum() == pytest.approx(1, rel=1e-13)  # 80 roundings
    assert P @ y == pytest.approx(mean, rel=1e-13)
    assert P @ (y - mean) ** 2 == pytest.approx(var, rel=1e-13)


def test_eq12_is_eq9_with_every_class_enumerated() -> None:
    rng = np.random.default_rng(1)
    X, W, b = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=3)

    def p(x: np.ndarray) -> np.ndarray:
        return np.exp(W @ x + b) / np.exp(W @ x + b).sum()

    F = eq.eq9(X, lambda x: zip(np.eye(3), p(x), strict=True), lambda y, x: np.kron(y - p(x), [*x, 1.0]))
    cov = np.stack([np.diag(p(x)) - np.outer(p(x), p(x)) for x in X])
    assert_allclose(eq.eq12(X, cov, 2.0), F / 2.0**2, **ROUNDING)  # in the order w1 b1 w2 b2 w3 b3


@pytest.mark.parametrize("norm", ["batch", "weight", "layer"])
def test_eq14_over_sigma_is_the_derivative_of_the_own_normalized_summed_input(norm: str) -> None:
    model = Model(norm)
    N, H, D = len(model.X), model.H, model.D
    J = derivative(lambda w: normalized(norm, model.X, w.reshape(H, D)), model.W.ravel()).reshape(N, H, H, D)
    own = J[:, range(H), range(H)]
    sigma = np.broadcast_to(model.scalars()[1], (N, H))
    assert_allclose(model.chi() / sigma[:, :, None], own, **DIFFERENCES)
    others = np.abs(J[:, 0, 1:]).max()
    assert others > 0.1 if norm == "layer" else others == 0


@pytest.mark.parametrize("norm", ["batch", "weight", "layer"])
def test_eq13_is_eq9_but_for_the_weights_under_layer_norm(norm: str) -> None:
    model = Model(norm)
    printed, defined = model.printed(), model.defined()
    exact = np.ones(len(printed), bool)
    if norm == "layer":  # where units share their scalars
        assert np.linalg.norm(printed - defined) > 0.1 * np.linalg.norm(defined)
        exact = np.tile(np.arange(model.D + 2) >= model.D, model.H)  # biases and gains
    assert_allclose(printed[np.ix_(exact, exact)], defined[np.ix_(exact, exact)], **DIFFERENCES)


def test_eq13_charges_for_steps_that_layer_norm_cannot_see() -> None:
    model = Model("layer")
    zeros = np.zeros((model.H, 2))
    rescaling = np.column_stack([model.W, zeros]).ravel()
    recentring = np.column_stack([np.tile([0.6, 0.8], (model.H, 1)), zeros]).ravel()
    for step in (rescaling, recentring):
        assert eq.eq8(model.printed(), step) > 0.01
        assert abs(eq.eq8(model.defined(), step)) < 1e-12  # squares of differences that are off by 1e-10


def test_eq32_is_exact_for_independent_outputs_of_constant_variance() -> None:
    model = Model("batch")
    cov = np.stack([np.diag([1.0, 2.0, 3.0])] * len(model.X))
    F = eq.eq13(model.a, *model.scalars(), model.g, model.chi(), cov, 0.5)
    delta_g = np.array([1.0, -0.5, 2.0])
    step = np.column_stack([np.zeros((model.H, model.D + 1)), delta_g]).ravel()
    assert eq.eq32(cov, 0.5, delta_g) == pytest.approx(eq.eq8(F, step), rel=1e-12)
    correlated = cov + 0.9  # no longer independent: 0.9 off the diagonal
    F = eq.eq13(model.a, *model.scalars(), model.g, model.chi(), correlated, 0.5)
    # what the print adds: each pair of units as if their summed inputs were perfectly correlated
    excess = 0.5 * delta_g @ (0.9 / 0.5**2 * (1 - np.corrcoef(model.a.T))) @ delta_g
    assert eq.eq32(correlated, 0.5, delta_g) - eq.eq8(F, step) == pytest.approx(excess, rel=1e-11)
    assert abs(excess) > 0.1


def test_both_sides_of_eq35_differ_and_the_left_one_has_the_wrong_length_in_it() -> None:
    X, cov = np.array([[1.0, 0.5]]), np.eye(2)[None]
    W, one = np.array([[3.0, 4.0], [0.0, 2.0]]), np.ones(2)
    assert eq.eq35(cov, X @ W.T, W, 1.0, one, 0, 1) == 0  # independent outputs
    # a = (5, 1): (5/5)(5/5) + (1/5)(1/2) as printed, (5/5)^2 + (1/2)^2 with the length of w_2
    assert eq.eq35_left(X, cov, W, 1.0, one, 0, 1) == pytest.approx((1 + 0.1) / 2, rel=1e-14)
    equal = W / np.linalg.norm(W, axis=1)[:, None]
    assert eq.eq35_left(X, cov, equal, 1.0, one, 0, 1) == pytest.approx((1 + 0.25) / 2, rel=1e-14)
