"""Section 6.4's pictures draw what they are given."""

import numpy as np
import pytest

from lnbook.pages.sec6_4_draw import drawings as draw

CURVE = {"update": np.array([1, 2, 3]), "mean": np.array([9.0, 5.0, 4.0])}


def test_bounds_have_a_panel_a_title_and_a_band_where_there_is_an_interval() -> None:
    band = CURVE | {"low": CURVE["mean"] - 1, "high": CURVE["mean"] + 1}
    left, right = draw.bounds({"own": {"none": CURVE, "layer": band}, "one": {"none": CURVE}}).axes
    assert [len(left.lines), len(left.collections), len(right.lines)] == [2, 1, 1]
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["no norm", "layer norm"]
    assert [left.get_title(), right.get_title()] == ["own", "one"]


@pytest.mark.parametrize("count", [1, 4, 8])
def test_a_strip_has_a_row_a_picture_and_a_column_a_glimpse(count: int) -> None:
    pictures, places = np.zeros((8, 2, 6, 6)), np.ones((8, 2, 3))
    fig = draw.strip(pictures, places, list(range(count)))
    assert len(fig.axes) == 2 * count
    assert [ax.get_title() for ax in fig.axes[:count]] == [str(k + 1) for k in range(count)]
    assert all(len(ax.patches) == 1 for ax in fig.axes)


def test_windows_are_outlined_on_the_picture_and_shown_beside_it() -> None:
    seen = {name: (np.array([0.0, 0.0, 6.0]), np.eye(3)) for name in ("wide", "narrow")}
    fig = draw.windows(np.zeros((6, 6)), seen, np.zeros((6, 6)))
    assert [ax.get_title() for ax in fig.axes] == ["the picture", "wide", "narrow", "painted back"]
    assert len(fig.axes[0].patches) == 2


def test_published_bounds_stand_from_high_to_low_and_the_pair_is_marked() -> None:
    (ax,) = draw.published({"a": 80.0, "b": 83.0, "c": 82.0}, ("b", "c")).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "c", "a"]
    assert ax.patches[0].get_x() == 82.0
    assert ax.patches[0].get_width() == 1.0
