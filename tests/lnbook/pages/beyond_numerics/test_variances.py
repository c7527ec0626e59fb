"""Five ways to a variance, each by its own bound against rational arithmetic, which has a yardstick, too."""

import pytest
import torch
from exact import standardized
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lnbook.pages.beyond_numerics import variances
from lnbook.pages.beyond_numerics.precision import roundoff
from lnbook.pages.beyond_numerics.variances import WAYS, layer_norm_by, moments, output_error, variance_error

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
steps = st.lists(st.integers(-16, 16), min_size=2, max_size=8).filter(lambda v: len(set(v)) > 1)
offsets = st.sampled_from([0, 1, 3, 16, 64, 200, 1000])


def row(steps: list[int], offset: int, dtype: torch.dtype) -> torch.Tensor:
    """Up to 63.5, so that 8 squares are a float16 when they are added up."""
    return ((torch.tensor(steps, dtype=torch.float64) / 16 + offset) / 16).to(dtype)


# How many roundings of up to 8 values a way may lose, as functions of u and the tilts that matter to it.
# 8 values: 3 levels of pairwise sums, 8 updates of a running mean; constants of the sums of squares: up to 4.
BOUNDS = {
    "one pass": lambda u, k, first: 16 * u * (1 + k * k),
    "Welford": lambda u, k, first: 64 * u * (1 + k) + 64 * (u * k) ** 2,
    "two passes": lambda u, k, first: 16 * u + 32 * (u * k) ** 2,
    "shifted": lambda u, k, first: 16 * u * (1 + first * first),
    "centered twice": lambda u, k, first: 16 * u + 32 * (u * u * k) ** 2,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40)
@given(steps=steps, offset=offsets)
def test_a_variance_is_off_by_no_more_than_its_way_allows(way, dtype, steps, offset) -> None:
    x = row(steps, offset, dtype)
    true = moments(x)
    if not true.variance:
        return
    u = roundoff(dtype)
    first = moments(x.double() - x.double()[0]).tilt  # of the distances from the first value
    allowed = BOUNDS[way](u, true.tilt, first)
    assert variance_error(true, float(WAYS[way](x).variance)) <= allowed


@pytest.mark.parametrize("way", WAYS)
def test_a_way_takes_cases_of_any_shape(way) -> None:
    x = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0))
    values, variance = WAYS[way](x)
    torch.testing.assert_close(values - x, -x.mean(-1, keepdim=True).expand_as(x))
    torch.testing.assert_close(variance, x.var(-1, correction=0, keepdim=True))


def test_a_negative_variance_has_no_root() -> None:
    x = torch.randn(200, 64, generator=torch.Generator().manual_seed(0)) + 1e4
    negative = (WAYS["one pass"](x).variance < -1e-5)[:, 0]
    assert negative.any(), "at this mean some differences of squares are below 0"
    assert layer_norm_by(x, variances.one_pass)[negative].isnan().all()


numbers = st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=8)


@given(numbers, st.sampled_from([0.0, 1e-5, 1e6]), st.floats(-1e-3, 1e-3))
def test_errors_are_those_that_were_put_in(values, eps, off) -> None:
    assume(len(set(values)) > 1)
    true = moments(torch.tensor(values, dtype=torch.float64))
    variance = float(true.variance)
    assume(variance > 1e-30)
    # the variance itself is rounded once, to half a unit in the last of 53 bits
    assert variance_error(true, variance * (1 + off)) == pytest.approx(abs(off), abs=4e-16)
    output = torch.tensor(standardized(values, eps), dtype=torch.float64)
    output[0] += off
    # outputs are below sqrt(8), so that each is rounded by 2**-52 at most, twice
    assert output_error(true, output, eps) == pytest.approx(abs(off), abs=1e-15)


def test_tilt_is_the_mean_over_the_deviation_and_what_is_not_finite_an_infinite_error() -> None:
    assert moments(torch.tensor([-4.0, -2.0])).tilt == 3.0
    assert moments(torch.tensor([5.0, 5.0])).tilt == float("inf")
    true = moments(torch.tensor([1.0, 2.0]))
    for bad in (float("nan"), -float("inf")):
        assert variance_error(true, bad) == float("inf")
        assert output_error(true, torch.tensor([0.0, bad])) == float("inf")
