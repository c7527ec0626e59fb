"""The microscope: slides hold what they say, and readings show the textbook's slopes."""

import math

import pytest
import torch

import lnlib
from lnbook.pages.beyond_numerics import precision
from lnbook.pages.beyond_numerics.precision import DTYPES, roundoff, slides
from lnbook.pages.beyond_numerics.variances import WAYS, moments, output_error, variance_error


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slides_have_their_tilts_and_no_case_without_spread(dtype) -> None:
    views = slides(dtype, cases=12, units=20, points=4, generator=generator())
    assert [v.cases.dtype for v in views] == [dtype] * 4
    for view, wanted in zip(views, torch.logspace(0, math.log10(0.25 / roundoff(dtype)), 4), strict=True):
        assert view.cases.shape == (12, 20)
        assert (view.cases.amin(-1) < view.cases.amax(-1)).all()
        assert [moments(case) for case in view.cases] == view.true
        # the sample of 20 normal values, and the rounding of the last slides, move it by less than half
        assert 0.5 < view.tilt / float(wanted) < 2


@pytest.mark.parametrize("values", precision.REPORTED.values(), ids=list(precision.REPORTED))
def test_reported_inputs_break_one_pass_and_nothing_else(values) -> None:
    x = torch.tensor(values)
    for name, way in WAYS.items():
        error = variance_error(moments(x), float(way(x).variance))
        assert error > 0.5 if name == "one pass" else error < 1e-3
    assert output_error(moments(x), lnlib.layer_norm(x), 1e-5) < 1e-6  # some roundings of values below 3
