"""The drawings of the page take what was computed and return a figure that fits a page."""

import numpy as np

from lnbook.figures import plots
from lnbook.pages.beyond_depth import drawings

RUNS = np.array([[1.0, 2.0], [2.0, 4.0]])


def test_growth_draws_means_over_predictions_where_there_are_any():
    fig = drawings.growth((1, 8), {"norm before": RUNS, "scaled": RUNS / 2}, {"norm before": [1, 8]}, "size")
    (ax,) = fig.axes
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "8"]
    assert [t.get_text() for t in ax.get_legend().texts] == ["norm before", "scaled"]
    drawn = [list(line.get_ydata()) for line in ax.lines]
    assert [1, 8] in drawn
    geometric = [2**0.5, 8**0.5]
    assert any(len(y) == 2 and np.allclose(y, geometric, rtol=1e-12) for y in drawn)  # rounding
    assert plots._svg(fig, "growth")


def test_a_quantity_by_block_is_a_line_for_each_placement_over_evenly_spaced_blocks():
    fig = drawings.by_block({"norm before": RUNS, "scaled": RUNS + 1}, "loss", block="block left out")
    (ax,) = fig.axes
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()) == ("block left out", "linear", "linear")
    assert ax.get_xticks().tolist() == [1, 2]
    lines = [line for line in ax.lines if line.get_linestyle() in ("-", "-.")]
    assert [list(line.get_ydata()) for line in lines] == [[1.5, 3.0], [2.5, 4.0]]
    assert plots._svg(fig, "costs")


def test_a_quantity_by_block_has_geometric_means_on_a_logarithmic_axis():
    fig = drawings.by_block({"both sides": RUNS}, "size", logs=True)
    (ax,) = fig.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert np.allclose(ax.lines[0].get_ydata(), [2**0.5, 8**0.5], rtol=1e-12)  # rounding
    assert plots._svg(fig, "sizes")


def test_rows_say_name_place_and_interval():
    first, second = drawings.rows((1, 8), {"scaled": RUNS}, logs=False)
    assert (first["name"], first["place"], second["place"], second["mean"]) == ("scaled", 1, 8, 3.0)
    assert second["low"] < 3.0 < second["high"]
