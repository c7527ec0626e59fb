"""Slides hold what they say, reported inputs break one pass, and the atlas says what programs do."""

import math
from html import unescape

import onnx.defs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lnlib
from lnbook.pages.beyond_numerics import precision
from lnbook.pages.beyond_numerics.precision import ATLAS, DTYPES, roundoff
from lnbook.pages.beyond_numerics.variances import WAYS, moments, output_error, variance_error


@pytest.mark.parametrize("dtype", DTYPES)
def test_slides_have_their_tilts_and_no_case_without_spread(dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    views = precision.slides(dtype, cases=12, units=20, points=4, generator=generator)
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


def layer_norm(x: torch.Tensor, eps: float, place: str) -> torch.Tensor:
    d = x - x.mean(-1, keepdim=True)
    variance = d.square().mean(-1, keepdim=True)
    return d / ((variance + eps).sqrt() if place == "inside" else variance.sqrt() + eps)


# A case of standard deviation 1.
UNIT = layer_norm(
    torch.randn(1, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), 0.0, "inside"
)


@given(st.floats(-12, 0).map(lambda p: 10.0**p), st.sampled_from(["inside", "outside"]))
def test_below_the_threshold_outputs_are_short_by_one_percent(eps, place) -> None:
    edge = precision.short_below(eps, place)
    low, at, high = (layer_norm(f * edge * UNIT, eps, place).std(correction=0) for f in (0.9, 1, 1.1))
    assert float(at) == pytest.approx(0.99, rel=1e-12)  # some tens of roundings of float64
    assert low < 0.99 < high


def test_a_row_of_the_atlas_has_its_link_and_what_follows_from_an_epsilons_size_and_place() -> None:
    assert ATLAS["eps"].notna().all()
    table = precision.atlas_table(ATLAS)
    html = unescape(table._repr_html_())
    assert all(f'<a href="{p.link}">{p.name}</a>' in html for p in ATLAS.itertuples())
    rows = {row[0]: tuple(row[1:]) for row in table.rows}
    assert rows["PyTorch"] == ("1e-05", "inside", "2.2e-02", "316", "1e-05")
    assert rows["CNTK"] == ("1e-05", "outside", "9.9e-04", "100,000", "1e-05")
    assert rows["BERT"][-1] == "0"  # float16 has nothing between 0 and 6e-8


def test_the_atlas_says_what_torch_and_onnx_themselves_say() -> None:
    listed = {p.name: p for p in ATLAS.itertuples()}
    torchs = torch.nn.LayerNorm(9)
    assert torchs.eps == listed["PyTorch"].eps
    ours = layer_norm(1e-3 * UNIT, listed["PyTorch"].eps, listed["PyTorch"].place)
    torch.testing.assert_close(torchs((1e-3 * UNIT).float()), ours.float(), rtol=1e-5, atol=0)  # float32
    default = onnx.defs.get_schema("LayerNormalization", 17).attributes["epsilon"].default_value.f
    assert default == pytest.approx(listed["ONNX"].eps, rel=1e-6)  # stored as a float32
