"""Section 6.5's pictures draw what they are given."""

import numpy as np
import pandas as pd

from lnbook.figures import plots
from lnbook.pages.sec6_5_handwriting import drawings

BAND = pd.DataFrame({"update": [1, 2], "mean": [5.0, 3.0], "low": [4.0, 2.0], "high": [6.0, 4.0]})
LINE = [np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[9.0, 1.0]])]


def test_lines_of_writing_stand_below_each_other_under_their_titles() -> None:
    (ax,) = drawings.written([("one", LINE), ("two", LINE)]).axes
    assert [text.get_text() for text in ax.texts] == ["one", "two"]
    assert ax.lines[1].get_marker() == "."  # a dot is a stroke of one point
    first, second = (np.asarray(ax.lines[k].get_ydata()) for k in (0, 2))
    assert second.max() < first.min()
    np.testing.assert_allclose(np.diff(first), np.diff(second))
    low, high = ax.get_ylim()
    assert low < second.min() < first.max() < high
    assert ax.lines[0].get_xdata()[0] == 0


def test_losses_have_a_panel_a_title_and_name_each_norm_once() -> None:
    fig = drawings.losses({"a": {"none": BAND, "layer": BAND}, "b": {"layer": BAND}})
    assert [ax.get_title() for ax in fig.axes] == ["a", "b"]
    legend = fig.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["no norm", "layer norm"]
    assert len(fig.axes[0].lines) == len(fig.axes[0].collections) == 2


def test_the_words_for_losses_say_where_each_begins_and_ends() -> None:
    words = drawings.told({"a": {"none": BAND}, "b": {"layer": BAND}})
    assert words.endswith("a, none: 5 to 3; b, layer: 5 to 3")


def test_the_exact_loss_is_a_line() -> None:
    ax = drawings.known({"layer": BAND}, 2.5).axes[0]
    assert ax.lines[-1].get_ydata()[0] == 2.5
    assert ax.get_ylim()[0] == 0


def test_the_window_is_shown_below_the_line_with_visible_blanks() -> None:
    phi = np.array([[0.2, 0.1, 0.0], [0.0, 3.0, 1.5]])
    above, below = drawings.reading(LINE, phi, "a b").axes
    assert len(above.lines) == 2
    assert above.lines[0].get_color() == plots.INK
    assert [label.get_text() for label in below.get_yticklabels()] == ["a", "␣", "b"]
    np.testing.assert_allclose(below.images[0].get_array(), [[1, 0], [0.5, 1], [0, 0.5]])
