"""Averages over a Gaussian variable, and what follows from them for recurrences of infinite width."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from lnbook.shared.mean_field import (
    critical_share,
    degrees,
    equivalent_scale,
    exponent,
    gaussian_mean,
    plain_exponent,
    plain_variance,
    slope,
    strength,
)

gains = st.floats(0.05, 5.0)
HOMOGENEOUS = {
    "identity": lambda u: 1.0 * u,
    "relu": torch.relu,
    "leaky": lambda u: torch.nn.functional.leaky_relu(u, 0.3),
    "abs": torch.abs,
}


@pytest.mark.parametrize("n", range(2, 13, 2))
def test_even_moments_are_double_factorials_and_odd_ones_zero(n: int) -> None:
    # 12 digits: moments of order 12 weigh nodes near 5, where the weights are exact to a few ulps
    assert gaussian_mean(lambda z: z**n) == pytest.approx(special.factorial2(n - 1), rel=1e-12)
    assert gaussian_mean(lambda z: z ** (n + 1)) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("g", [0.1, 1.0, 3.0, 10.0])
def test_a_steep_function_is_integrated_as_well_as_by_an_adaptive_rule(g: float) -> None:
    def integrand(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / math.cosh(g * z) ** 4

    truth = integrate.quad(integrand, 0, 12, epsabs=1e-14, limit=500)[0] * 2
    steepness = gaussian_mean(lambda z: slope(torch.tanh, g * z).square())
    assert steepness == pytest.approx(truth, rel=1e-10)  # the adaptive rule's own tolerance


@given(gains)
def test_the_exponent_of_an_error_function_has_a_closed_form(g: float) -> None:
    square = 2 / math.pi * math.asin(2 * g**2 / (1 + 2 * g**2))
    grown = g**2 * 4 / math.pi / math.sqrt(1 + 4 * g**2)
    # asin keeps 12 digits of small arguments; the logarithm of a number near 1 loses none more
    assert exponent(torch.erf, g) == pytest.approx(0.5 * math.log(grown / square), abs=1e-12)


@given(gains, st.tuples(*[st.floats(-2, 2)] * 3), st.floats(0.1, 3))
def test_the_exponent_of_an_odd_function_is_never_negative(g: float, c: tuple, k: float) -> None:
    def odd(u: torch.Tensor) -> torch.Tensor:
        return torch.tanh(u) + c[0] * torch.sin(k * u) + c[1] * torch.atan(u) + c[2] * u / 10

    if gaussian_mean(lambda z: odd(g * z).square()) > 1e-6:  # else the sum cancels to rounding errors
        assert exponent(odd, g) >= -1e-9  # 1e-15 of the terms over what is left of their squares


@pytest.mark.parametrize("f", [torch.sigmoid, torch.nn.functional.softplus])
def test_a_function_with_a_mean_can_have_a_negative_one(f) -> None:
    assert exponent(f, 1.0) < -0.5
    assert critical_share(f, 1.0) == 1.0  # it needs no inputs
    assert exponent(torch.tanh, 1.0, bias=1.0) < 0 < exponent(torch.tanh, 1.0)  # a bias calms


@pytest.mark.parametrize("f", HOMOGENEOUS.values(), ids=HOMOGENEOUS)
@pytest.mark.parametrize("g", [0.1, 1.0, 7.0])
def test_functions_that_keep_a_positive_factor_are_marginal_at_any_gain(f, g: float) -> None:
    assert exponent(f, g) == pytest.approx(0.0, abs=1e-14)


def test_at_small_gain_the_exponent_is_two_thirds_of_the_gains_fourth_power() -> None:
    for g in (0.05, 0.1):
        assert exponent(torch.tanh, g) / (2 / 3 * g**4) == pytest.approx(1, abs=7 * g**2)  # the next order


@pytest.mark.parametrize("f", [torch.tanh, torch.erf, torch.sin, torch.sigmoid])
@pytest.mark.parametrize("g", [0.1, 0.5, 1.0])
def test_the_exponent_is_half_the_logarithm_of_the_mean_degree(f, g: float) -> None:
    p = degrees(f, g)
    # tanh at gain 1 has 1e-8 of its mean degree beyond degree 60
    assert p.sum() == pytest.approx(1, abs=1e-8)
    assert math.exp(2 * exponent(f, g)) == pytest.approx(float(p @ torch.arange(61.0).double()), rel=1e-7)


def test_the_degrees_of_a_polynomial_are_its_own() -> None:
    p = degrees(lambda z: z**3, 1.0, highest=6)  # z^3 = He_3 + 3 He_1, of squares 6 and 9
    torch.testing.assert_close(p, torch.tensor([0, 9, 0, 6, 0, 0, 0]).double() / 15, atol=1e-12, rtol=0)


@given(gains)
def test_at_the_critical_share_the_exponent_is_zero(g: float) -> None:
    r = critical_share(torch.tanh, g)
    assert exponent(torch.tanh, g, share=r) == pytest.approx(0, abs=1e-12)
    x = strength(torch.tanh, g, r)
    square = gaussian_mean(lambda z: torch.tanh(g * z).square())
    assert square / (square + x**2) == pytest.approx(r, rel=1e-12)


@given(st.floats(0.6, 5.0))
def test_layer_norm_is_a_plain_network_on_its_chaotic_side(g: float) -> None:
    s = equivalent_scale(torch.tanh, g)
    assert s > 1
    # near s = 1 the fixed point is approached slowly, and is known to fewer digits
    assert math.sqrt(plain_variance(torch.tanh, s)) == pytest.approx(g, rel=1e-8)
    assert plain_exponent(torch.tanh, s) == pytest.approx(exponent(torch.tanh, g), abs=1e-8)


def test_a_plain_network_is_silent_below_the_edge_and_inputs_wake_it() -> None:
    assert plain_variance(torch.tanh, 0.5) == 0
    assert plain_exponent(torch.tanh, 0.5) == pytest.approx(math.log(0.5), abs=1e-12)
    assert plain_variance(torch.tanh, 0.5, strength=1.0) > 1
    assert plain_exponent(torch.tanh, 0.5, strength=1.0) < math.log(0.5)  # and they calm it
