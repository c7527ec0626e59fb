"""Averages over a Gaussian variable, recurrences of infinite width, and the derivative of finite ones."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from lnbook.pages.sec3_1_recurrent import dynamics
from lnbook.pages.sec3_1_recurrent.dynamics import exponent, mean_square_slope, strength


@pytest.mark.parametrize("g", [0.1, 10.0])
def test_a_steep_function_is_integrated_as_well_as_by_an_adaptive_rule(g: float) -> None:
    def integrand(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / math.cosh(g * z) ** 4

    truth = integrate.quad(integrand, 0, 12, epsabs=1e-14, limit=500)[0] * 2
    # the adaptive rule's own tolerance
    assert mean_square_slope(torch.tanh, g) == pytest.approx(truth, rel=1e-10)


@given(st.floats(0.05, 5.0), st.floats(0.1, 1.0))
def test_the_exponent_of_an_error_function_and_the_share_that_inputs_leave_have_closed_forms(
    g: float, r: float
) -> None:
    square = 2 / math.pi * math.asin(2 * g**2 / (1 + 2 * g**2))
    grown = g**2 * 4 / math.pi / math.sqrt(1 + 4 * g**2)
    # asin keeps 12 digits of small arguments; the logarithm of a number near 1 loses none more
    assert exponent(torch.erf, g) == pytest.approx(0.5 * math.log(grown / square), abs=1e-12)
    assert square / (square + strength(torch.erf, g, r) ** 2) == pytest.approx(r, rel=1e-11)


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_push_is_the_step_and_its_derivative(norm: str) -> None:
    generator = torch.Generator().manual_seed(0)
    W = dynamics.weights(3, 8, generator)
    net = dynamics.Networks(W, gain=(0.5, 2.0), strength=(0.0, 1.0), norm=norm)
    h, v, noise = net.states(generator), net.states(generator), net.noise(generator)
    truth = torch.autograd.functional.jvp(lambda h: net.step(h, noise), h, v)
    torch.testing.assert_close(net.push(h, v, noise), truth, rtol=1e-11, atol=1e-12)
