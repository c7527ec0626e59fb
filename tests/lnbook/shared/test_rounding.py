"""The yardstick of rounding errors, held against another one, and what it says of layer norms."""

import pytest
import torch
from exact import standardized
from hypothesis import assume, given
from hypothesis import strategies as st

from lnbook.shared import rounding

numbers = st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=8)


@given(numbers, st.sampled_from([0.0, 1e-12, 1e-5]))
def test_the_exact_result_is_that_of_the_other_yardstick(values, eps) -> None:
    assume(len(set(values)) > 1 or eps)
    case, other = (torch.tensor(v, dtype=torch.float64) for v in (values, standardized(values, eps)))
    assert rounding.output_error(rounding.moments(case), other, eps) <= 2**-52  # rounded once, below root 8


@given(numbers, st.floats(-1e-3, 1e-3))
def test_errors_are_those_that_were_put_in(values, off) -> None:
    assume(len(set(values)) > 1)
    true = rounding.moments(torch.tensor(values, dtype=torch.float64))
    variance = float(true.variance)
    assume(variance > 1e-30)
    # the variance itself is rounded once, to half a unit in the last of 53 bits
    assert rounding.variance_error(true, variance * (1 + off)) == pytest.approx(abs(off), abs=4e-16)
    output = torch.tensor(standardized(values), dtype=torch.float64)
    output[0] += off
    # outputs are below sqrt(8), so that each is rounded by 2**-52 at most, twice
    assert rounding.output_error(true, output) == pytest.approx(abs(off), abs=1e-15)


def test_tilt_is_the_mean_over_the_deviation_and_what_is_not_finite_an_infinite_error() -> None:
    assert rounding.moments(torch.tensor([-4.0, -2.0])).tilt == 3.0
    assert rounding.moments(torch.tensor([5.0, 5.0])).tilt == float("inf")
    true = rounding.moments(torch.tensor([1.0, 2.0]))
    for bad in (float("nan"), -float("inf")):
        assert rounding.variance_error(true, bad) == float("inf")
        assert rounding.output_error(true, torch.tensor([0.0, bad])) == float("inf")
