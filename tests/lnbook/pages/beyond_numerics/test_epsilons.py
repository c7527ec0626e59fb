"""What follows from an epsilon's size and place, against layer norms that have it; the list of programs."""

import onnx.defs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.beyond_numerics import epsilons
from lnbook.pages.beyond_numerics.epsilons import ATLAS, factor, gain_at_zero, loudness, short_below, stored
from lnlib.invariance import EPS_DEFAULTS

sizes = st.floats(-12, 0).map(lambda p: 10.0**p)
places = st.sampled_from(["inside", "outside"])


def layer_norm(x: torch.Tensor, eps: float, place: str) -> torch.Tensor:
    d = x - x.mean(-1, keepdim=True)
    variance = d.square().mean(-1, keepdim=True)
    return d / ((variance + eps).sqrt() if place == "inside" else variance.sqrt() + eps)


def shape() -> torch.Tensor:
    """A case of standard deviation 1."""
    x = torch.randn(1, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return layer_norm(x, 0.0, "inside")


@given(sizes, sizes, places)
def test_what_comes_out_is_as_loud_as_the_formula_says(std, eps, place) -> None:
    out = layer_norm(std * shape(), eps, place).std(-1, correction=0)
    expected = loudness(torch.tensor([std], dtype=torch.float64), eps, place)
    torch.testing.assert_close(out, expected, rtol=1e-12, atol=0)  # some tens of roundings of float64


@given(sizes, places, st.floats(0.001, 0.9))
def test_below_the_threshold_outputs_are_short_by_the_share(eps, place, by) -> None:
    std = torch.tensor([short_below(eps, place, by)], dtype=torch.float64)
    assert float(loudness(std, eps, place)) == pytest.approx(1 - by, rel=1e-12)
    assert float(loudness(0.9 * std, eps, place)) < 1 - by < float(loudness(1.1 * std, eps, place))


@given(sizes, places)
def test_tiny_differences_are_multiplied_by_the_gain_at_zero(eps, place) -> None:
    tiny = torch.tensor([1e-9 * eps], dtype=torch.float64)
    assert float(loudness(tiny, eps, place) / tiny) == pytest.approx(gain_at_zero(eps, place), rel=1e-8)


@given(sizes, sizes, places, st.floats(0.01, 100))
def test_a_scale_changes_outputs_by_the_factor(std, eps, place, delta) -> None:
    old, new = (layer_norm(c * std * shape(), eps, place) for c in (1.0, delta))
    expected = factor(torch.tensor([[std]], dtype=torch.float64), eps, place, delta)
    torch.testing.assert_close(
        new / old, expected.expand(1, 9), rtol=1e-11, atol=0
    )  # tens of roundings, twice


def test_float16_stores_small_epsilons_as_zero_and_bfloat16_does_not() -> None:
    assert stored(1e-12, torch.float16) == stored(1e-8, torch.float16) == 0
    assert stored(2.99e-8, torch.float16) == 2.0**-24, "the smallest number, from half of it on"
    assert all(stored(1e-12, dtype) > 0 for dtype in (torch.bfloat16, torch.float32))


def test_the_atlas_has_each_program_once_with_a_link() -> None:
    assert len({p.name for p in ATLAS}) == len(ATLAS) >= 12
    assert len({p.link for p in ATLAS}) == len(ATLAS)
    assert all(p.link.startswith("https://") and p.eps > 0 for p in ATLAS)
    assert {d.program for d in EPS_DEFAULTS} < {p.name for p in ATLAS}
    assert {p.place for p in ATLAS} == {"inside", "outside"}


def test_the_atlas_says_what_torch_and_onnx_themselves_say() -> None:
    listed = {p.name: p for p in ATLAS}
    torchs = torch.nn.LayerNorm(9)
    assert torchs.eps == listed["PyTorch"].eps
    x = 1e-3 * shape()
    ours = layer_norm(x, listed["PyTorch"].eps, listed["PyTorch"].place)
    torch.testing.assert_close(torchs(x.float()), ours.float(), rtol=1e-5, atol=0)  # float32
    default = onnx.defs.get_schema("LayerNormalization", 17).attributes["epsilon"].default_value.f
    assert default == pytest.approx(listed["ONNX"].eps, rel=1e-6)  # stored as a float32


def test_a_page_links_each_program_and_escapes_what_it_shows() -> None:
    mine = epsilons.Program("A & B", 1e-6, "outside", "https://example.org/?a=1&b=2")
    page = epsilons.AtlasTable([mine])._repr_html_()
    assert '<td data-column="program"><a href="https://example.org/?a=1&amp;b=2">A &amp; B</a></td>' in page
    assert '<td data-column="of the root">outside</td>' in page
    assert "<td" in epsilons.AtlasTable(ATLAS)._repr_html_()
