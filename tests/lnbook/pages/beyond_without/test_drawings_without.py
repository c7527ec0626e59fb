"""The drawings of the page take what was computed and return a figure that fits a page."""

import numpy as np
import pytest

from lnbook.figures import plots
from lnbook.pages.beyond_without import drawings

WAYS = {"layer norm": np.array([1.0, 3.0]), "ReZero": np.array([2.0, 2.5])}


def test_dots_have_a_panel_a_setting_and_a_row_a_way_from_the_top():
    fig = drawings.dots({"10 blocks": WAYS, "100 blocks": WAYS}, "told")
    assert [ax.get_title() for ax in fig.axes] == ["10 blocks", "100 blocks"]
    ax = fig.axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == list(WAYS)
    assert ax.yaxis_inverted()
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines]
    assert ([1.0, 3.0], [0, 0]) in drawn
    assert ([2.0], [0]) in drawn  # the mean
    assert plots._svg(fig, "dots")


def test_responses_draw_the_curves_and_the_ratios_around_equality():
    t = np.linspace(-2, 2, 5)
    curves = {"layer norm": t, "dynamic tanh": np.tanh(t)}
    fig = drawings.responses(t, curves, (50, 1000), [np.array([1.0, 4.0]), np.array([0.5, 0.5])])
    left, right = fig.axes
    assert [list(line.get_ydata()) for line in left.lines] == [list(y) for y in curves.values()]
    assert [label.get_text() for label in right.get_xticklabels()] == ["50", "1,000"]
    geometric = [line for line in right.lines if list(line.get_xdata()) == [50, 1000]]
    np.testing.assert_allclose(geometric[0].get_ydata(), [2.0, 0.5], rtol=1e-12)  # rounding
    assert plots._svg(fig, "responses")


def test_growth_draws_lines_predicted_and_geometric_means():
    found = {"not divided": np.array([[1.0, 2.0, 2.0], [1.0, 8.0, 8.0]])}
    fig = drawings.growth(found, {"not divided": [1.0, 4.0, 4.0]})
    line, means, *_ = fig.axes[0].lines
    assert list(line.get_ydata()) == [1.0, 4.0, 4.0]
    np.testing.assert_allclose(means.get_ydata(), [1.0, 4.0, 4.0], rtol=1e-12)  # rounding
    assert fig.axes[0].get_yscale() == "log"
    assert plots._svg(fig, "growth")


def test_rows_say_setting_way_and_interval():
    first, second = drawings.rows({"few": WAYS})
    assert (first["setting"], first["way"], first["mean"]) == ("few", "layer norm", 2.0)
    assert second["low"] < second["mean"] < second["high"]
    (row,) = drawings.rows({"few": {"ratio": np.array([0.5, 2.0])}}, logs=True)
    assert row["mean"] == pytest.approx(1)
    assert row["low"] * row["high"] == pytest.approx(1)  # symmetric on the axis of logarithms
