"""The literal equations against each other and against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from exact import standardized
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lnlib.equations as eq

# Of moderate size, in steps of 1/8, so that a spread of 0 is the only tiny one.
eighths = st.integers(-800, 800).map(lambda k: k / 8)
rows = st.lists(eighths, min_size=2, max_size=9).map(np.array)


@given(rows)
def test_eqs_3_and_5_and_eqs_16_and_15_are_layer_norm_in_exact_arithmetic(a: np.ndarray) -> None:
    mu, sigma = eq.eq3(a)
    assert eq.eq16(a) == (mu, sigma)
    exact = [Fraction(v) for v in a]
    mean = sum(exact) / len(a)
    var = sum((v - mean) ** 2 for v in exact) / len(a)
    # at most 9 values of one binade: a dozen roundings of 1.1e-16 of numbers up to 100
    assert mu == pytest.approx(float(mean), abs=1e-13)
    assert sigma**2 == pytest.approx(float(var), rel=1e-13, abs=1e-25)
    assume(a.std() > 0)
    gain, bias = np.arange(1.0, len(a) + 1), np.arange(len(a)) - 2.0
    for got in (eq.eq5(a, mu, sigma, gain, bias, lambda z: z), eq.eq15(a, gain, bias)):
        # |mean|/std is at most 2400 here, which multiplies the few roundings of 1.1e-16
        assert_allclose((got - bias) / gain, standardized(a.tolist()), rtol=0, atol=1e-11)


@given(st.lists(st.tuples(eighths, eighths, eighths), min_size=2, max_size=6).map(np.array))
def test_eq2_is_eq3_of_each_column(a: np.ndarray) -> None:
    assume((a.std(axis=0) > 0).all())
    g = np.array([1.0, -2.0, 0.5])
    expected = [g[i] * np.array(standardized(a[:, i].tolist())) for i in range(3)]
    # as for Eq. (5), times a gain of up to 2
    assert_allclose(eq.eq2(a, g), np.transpose(expected), rtol=0, atol=2e-11)
    mu, sigma = eq.eq2_statistics(a)
    assert [(mu[i], sigma[i]) for i in range(3)] == [eq.eq3(a[:, i]) for i in range(3)]


def test_eq1_is_a_matrix_product_with_a_bias_inside_the_nonlinearity() -> None:
    rng = np.random.default_rng(0)
    W, h, b = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=4)
    a, out = eq.eq1(W, h, b, np.tanh)
    # sums of 3 products of numbers near 1
    assert_allclose(a, W @ h, rtol=0, atol=1e-14)
    assert_allclose(out, np.tanh(W @ h + b), rtol=0, atol=1e-14)


def layer(seed: int, H: int = 5, D: int = 3) -> tuple[np.ndarray, ...]:
    """W, x, g, b and gamma of one layer."""
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=size) for size in ((H, D), D, H, H, D))


@given(st.integers(0, 99), st.floats(0.01, 100))
def test_eqs_6_and_7_hold_for_every_positive_factor(seed: int, delta: float) -> None:
    W, x, g, b, gamma = layer(seed)
    # summed inputs near 1 beside a common shift of up to 100 times their size: a few hundred roundings
    assert_allclose(*eq.eq6(W, x, g, b, np.tanh, delta, gamma), rtol=0, atol=1e-10)
    assert_allclose(*eq.eq7(W, x, g, b, np.tanh, delta), rtol=0, atol=1e-12)


@given(st.integers(0, 99), st.floats(-100, -0.01))
def test_a_negative_factor_turns_the_sign_that_eqs_6_and_7_print_as_kept(seed: int, delta: float) -> None:
    W, x, g, b, gamma = layer(seed)
    linear = lambda z: z  # noqa: E731
    for h_prime, h in (eq.eq6(W, x, g, b, linear, delta, gamma), eq.eq7(W, x, g, b, linear, delta)):
        assert_allclose(h_prime - b, -(h - b), rtol=0, atol=1e-9)  # as above
        assert np.abs(h_prime - h).max() > 0.1
