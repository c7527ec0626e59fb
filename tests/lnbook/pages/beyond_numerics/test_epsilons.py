"""What follows from an epsilon's size and place, against layer norms that have it; the list of programs."""

from html import unescape

import onnx.defs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.beyond_numerics.epsilons import ATLAS, AtlasTable, short_below

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


@given(sizes, places, st.floats(0.001, 0.9))
def test_below_the_threshold_outputs_are_short_by_the_share(eps, place, by) -> None:
    edge = short_below(eps, place, by)
    low, at, high = (layer_norm(f * edge * shape(), eps, place).std(correction=0) for f in (0.9, 1, 1.1))
    assert float(at) == pytest.approx(1 - by, rel=1e-12)  # some tens of roundings of float64
    assert low < 1 - by < high


def test_each_name_in_the_table_is_a_link_to_where_its_epsilon_is_written() -> None:
    html = unescape(AtlasTable(ATLAS)._repr_html_())
    assert all(f'<a href="{p.link}">{p.name}</a>' in html for p in ATLAS.itertuples())


def test_a_row_says_what_follows_from_the_size_and_the_place_of_an_epsilon() -> None:
    assert ATLAS["eps"].notna().all()
    rows = {row[0]: tuple(row[1:]) for row in AtlasTable(ATLAS).rows}
    assert rows["PyTorch"] == ("1e-05", "inside", "2.2e-02", "316", "1e-05")
    assert rows["CNTK"] == ("1e-05", "outside", "9.9e-04", "100,000", "1e-05")


def test_the_atlas_says_what_torch_and_onnx_themselves_say() -> None:
    listed = {p.name: p for p in ATLAS.itertuples()}
    torchs = torch.nn.LayerNorm(9)
    assert torchs.eps == listed["PyTorch"].eps
    x = 1e-3 * shape()
    ours = layer_norm(x, listed["PyTorch"].eps, listed["PyTorch"].place)
    torch.testing.assert_close(torchs(x.float()), ours.float(), rtol=1e-5, atol=0)  # float32
    default = onnx.defs.get_schema("LayerNormalization", 17).attributes["epsilon"].default_value.f
    assert default == pytest.approx(listed["ONNX"].eps, rel=1e-6)  # stored as a float32
