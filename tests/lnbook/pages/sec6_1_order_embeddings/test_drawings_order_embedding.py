"""Section 6.1's pictures draw what they are given."""

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from lnbook.data.boxes import Boxes
from lnbook.figures import plots
from lnbook.pages.sec6_1_order_embeddings import drawings

CORNERS = np.array([[0.0, 0.0, 4.0, 2.0], [1.0, 1.0, 2.0, 2.0], [5.0, 0.0, 7.0, 2.0]])
PICTURE = Boxes(8, 4, CORNERS, np.array([1, 0, 1]))
NAMES = ("cat", "dog")


def test_pictures_show_each_box_and_name_each_class_once() -> None:
    fig = drawings.pictures([PICTURE, PICTURE], NAMES, ["two dogs and a cat", "others"], right=1)
    one, other = fig.axes
    assert len(one.patches) == 3
    assert sorted(text.get_text() for text in one.texts) == ["cat", "dog"]
    assert one.get_xlabel() == "two dogs and a cat"
    assert to_hex(other.spines["left"].get_edgecolor()) == plots.OTHERS["teal"]
    assert to_hex(one.spines["left"].get_edgecolor()) == plots.INK


def test_what_is_found_has_a_row_a_query_and_frames_the_right_one() -> None:
    fig = drawings.found(["a cat", "a dog"], [[PICTURE] * 3] * 2, [2, -1], NAMES)
    widths = [ax.spines["top"].get_linewidth() for ax in fig.axes]
    assert widths == [0.8, 0.8, 3.0, 0.8, 0.8, 0.8]
    assert [ax.texts[-1].get_text() for ax in fig.axes[::3]] == ["a cat", "a dog"]


def test_recalls_draw_a_panel_a_k_with_both_norms() -> None:
    curve = pd.DataFrame({"update": [1, 2], "mean": [3.0, 4.0], "low": [2.0, 3.0], "high": [4.0, 5.0]})
    fig = drawings.recalls({k: {"none": curve, "layer": curve} for k in (1, 5, 10)})
    assert [ax.get_title() for ax in fig.axes] == ["R@1", "R@5", "R@10"]
    assert all(len(ax.lines) == len(ax.collections) == 2 for ax in fig.axes)
    assert [text.get_text() for text in fig.axes[0].get_legend().get_texts()] == ["no norm", "layer norm"]


def test_a_hierarchy_draws_each_text_and_a_line_an_edge() -> None:
    edges = [("a", "a b", True), ("b", "a b", False)]
    (ax,) = drawings.hierarchy([["a", "b"], ["a b"]], edges).axes
    assert {text.get_text(): text.get_position() for text in ax.texts} == {
        "a": (0.25, 0.0),
        "b": (0.75, 0.0),
        "a b": (0.5, -1.0),
    }
    assert [line.get_linestyle() for line in ax.lines] == ["-", ":"]
