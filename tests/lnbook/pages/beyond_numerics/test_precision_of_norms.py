"""The microscope: slides hold what they say, readings repeat the errors, slopes are powers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lnlib
from lnbook.pages.beyond_numerics import drawings, precision
from lnbook.pages.beyond_numerics.precision import DTYPES, readings, roundoff, slide, slides, slope
from lnbook.shared.rounding import moments, output_error, variance_error
from lnbook.shared.variances import WAYS, layer_norm_by


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_roundoff_is_the_first_error_that_a_dtype_makes(dtype) -> None:
    one, u = torch.ones((), dtype=dtype), roundoff(dtype)
    assert one + u == one, "half a spacing rounds to even"
    assert one + 2 * u > one


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


@pytest.mark.parametrize("tilt", [0.0, -1.0, 2.0**25])
def test_a_tilt_that_a_dtype_cannot_hold_is_an_error(tilt) -> None:
    with pytest.raises(ValueError, match=r"up to 1\.67772e\+07"):
        slide(tilt, torch.float32, 2, 5, generator())


def test_readings_are_medians_of_the_errors_in_units_of_roundoff() -> None:
    views = [slide(30.0, torch.float32, 5, 10, generator())]
    (seen,) = readings(views, WAYS["two passes"])
    x, true, u = views[0].cases, views[0].true, roundoff(torch.float32)
    outputs = layer_norm_by(x, WAYS["two passes"], eps=0.0)
    off = sorted(output_error(t, y) / u for t, y in zip(true, outputs, strict=True))
    variances = WAYS["two passes"](x).variance[:, 0].tolist()
    wrong = sorted(variance_error(t, v) / u for t, v in zip(true, variances, strict=True))
    assert seen == (views[0].tilt, wrong[2], off[2], off[-1])


def test_a_whole_layer_norm_shows_no_variance() -> None:
    views = slides(torch.float32, 3, 10, 3, generator())
    for seen in readings(views, norm=lambda x: lnlib.layer_norm(x, eps=0.0)):
        assert math.isnan(seen.variance)
        assert seen.output <= seen.worst < 32, "three bits for the mean, two for outputs of size 3"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_wide_arithmetic_leaves_half_precision_its_own_rounding_of_the_result(dtype) -> None:
    views = slides(dtype, 6, 20, 4, generator())
    for narrow, wide in zip(
        readings(views, WAYS["two passes"]), readings(views, WAYS["two passes"], wide=True), strict=True
    ):
        assert wide.worst <= 4, "outputs of 20 units are below 4.36, rounded to nearest"
        assert wide.output < narrow.output


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("methods", [{}, {"way": WAYS["shifted"], "norm": lnlib.layer_norm}])
def test_readings_want_one_method(methods) -> None:
    with pytest.raises(ValueError, match="one of the two"):
        readings([], **methods)


@given(st.floats(0.5, 3), st.floats(1, 10))
def test_the_slope_of_a_power_law_is_its_power(power, size) -> None:
    tilts = [10.0**k for k in range(7)]
    errors = [max(1.0, size * t**power) for t in tilts]
    assert slope(tilts, errors, above=12, below=1e30) == pytest.approx(power, abs=1e-9)


def test_a_slope_wants_three_points() -> None:
    with pytest.raises(ValueError, match=r"2 errors lie between 0\.5 and 20"):
        slope([1, 2, 3, 4], [1, 10, 100, 1000], 0.5, 20)


def test_the_slopes_of_the_textbook_are_seen() -> None:
    views = slides(torch.float64, 12, 32, 9, generator())
    found = {}
    for name, field in (("one pass", "variance"), ("Welford", "variance"), ("two passes", "output")):
        seen = readings(views, WAYS[name])
        errors = [getattr(r, field) for r in seen]
        found[name] = slope([r.tilt for r in seen], errors, 30, 0.1 / roundoff(torch.float64))
    # the fit runs over a few powers of ten of medians of 12, each within a factor of 2
    assert found == {
        "one pass": pytest.approx(2, abs=0.2),
        "Welford": pytest.approx(1, abs=0.1),
        "two passes": pytest.approx(1, abs=0.1),
    }


@pytest.mark.parametrize("values", precision.REPORTED.values(), ids=list(precision.REPORTED))
def test_reported_inputs_break_one_pass_and_nothing_else(values) -> None:
    x = torch.tensor(values)
    for name, way in WAYS.items():
        error = variance_error(moments(x), float(way(x).variance))
        assert error > 0.5 if name == "one pass" else error < 1e-3
    assert output_error(moments(x), lnlib.layer_norm(x), 1e-5) < 1e-6  # some roundings of values below 3


def test_spans_draw_a_bar_for_every_run_of_verdicts_and_none_where_there_is_none() -> None:
    rows = {"first": ["", "right", "right", "wrong"], "second": ["nan", "right", "", "right"]}
    fig = drawings.spans(rows, [-1, 0, 1, 2])
    ax = fig.axes[0]
    bars = sorted(
        (round(p.get_y() + 0.35), p.get_x(), p.get_width()) for p in ax.patches if p.get_width() > 0
    )
    second, first = ([bar[1:] for bar in bars if bar[0] == y] for y in (0, 1))
    assert first == [(-0.5, 2), (1.5, 1)]
    assert second == [(-1.5, 1), (-0.5, 1), (1.5, 1)]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["second", "first"], "the first is on top"
    assert len(fig.legends[0].get_texts()) == 3
