"""The numerics chapter's drawings show the numbers they are given, and fit a page."""

import math

import numpy as np
from legible import READABLE, smallest

from lnbook.figures import plots
from lnbook.pages.beyond_numerics import drawings
from lnbook.pages.beyond_numerics.epsilons import Program, short_below
from lnbook.pages.beyond_numerics.precision import Reading


def drawn(fig) -> bool:
    """It fits a page, and a phone."""
    return len(plots._svg(fig, "drawn")) > 0 and smallest(fig) >= READABLE


def seen(variance: float, output: float) -> list[Reading]:
    return [Reading(10.0**k, variance, output * 10**k, 2 * output * 10**k) for k in range(4)]


def test_the_microscope_shows_errors_relative_to_one_and_leaves_out_what_is_not_seen() -> None:
    methods = {"one pass": seen(8.0, 4.0), "torch": seen(math.nan, 2.0), "shifted": seen(0.0, 1.0)}
    fig = drawings.microscope(methods, 2.0**-10)
    variance, output = fig.axes
    lines = {line.get_label(): line for line in variance.lines}
    assert "torch" not in lines
    np.testing.assert_allclose(lines["one pass"].get_ydata(), 8 * 2.0**-10)
    assert (lines["shifted"].get_ydata() > 0).all(), "an error of 0 is drawn, at the bottom"
    lines = {line.get_label(): line for line in output.lines}
    np.testing.assert_allclose(lines["torch"].get_ydata(), 2 * 2.0**-10 * 10.0 ** np.arange(4))
    assert [t.get_text() for t in fig.legends[0].get_texts()] == list(methods)
    assert drawn(fig)


def test_precisions_have_a_mark_each_and_ways_a_color_each() -> None:
    by = {"float16": seen(2.0, 1.0), "float32": seen(3.0, 1.0)}
    fig = drawings.precisions({"one pass": by, "Welford": by})
    points = [line for line in fig.axes[0].lines if len(line.get_xdata()) == 4]
    assert [line.get_marker() for line in points] == ["o", "s", "o", "s"]
    assert [line.get_ydata()[0] for line in points] == [2, 3, 2, 3]
    assert points[0].get_color() == points[1].get_color() != points[2].get_color()
    assert drawn(fig)


def test_the_atlas_sorts_programs_by_where_they_stop_and_marks_the_place() -> None:
    programs = [Program("A", 1e-3, "inside", "https://a.org"), Program("B", 1e-6, "outside", "https://b.org")]
    fig = drawings.atlas(programs)
    ax = fig.axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["B", "A"]
    full = [line for line in ax.lines if line.get_linestyle() == "None" and len(line.get_xdata())]
    ends = {float(line.get_xdata()[0]): line.get_marker() for line in full}
    assert ends[short_below(1e-6, "outside")] == ends[short_below(1e-6, "outside", 0.5)] == "s"
    assert ends[short_below(1e-3, "inside")] == ends[short_below(1e-3, "inside", 0.5)] == "o"
    assert drawn(fig)


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
    assert drawn(fig)
