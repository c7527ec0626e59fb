"""The appendix's drawings take what was computed and return a figure that fits a page."""

import numpy as np
import torch

from lnbook.figures import plots
from lnbook.pages.appendix_magnitude import drawings


def test_the_lost_factor_has_a_named_line_a_family_and_bars_from_lowest_to_highest_unit() -> None:
    gains, places = [0.0, 1.0, 2.0], [1.0, 2.0]
    units = torch.tensor([[1.0, 2.0], [3.0, 8.0], [2.0, 4.0]])
    fig = drawings.lost_factor(
        gains, {"one": [1, 2, 5], "two": [1, 1, 1]}, places, {"x": units, "y": 1 / units}
    )
    (ax,) = fig.axes
    assert [text.get_text() for text in ax.texts] == ["one", "two"]
    medians, _, (bars,) = ax.containers[0]
    np.testing.assert_allclose(medians.get_ydata(), [2, 4])
    np.testing.assert_allclose([s[:, 1] for s in bars.get_segments()], [[1, 3], [2, 8]])
    assert plots._svg(fig, "factor")


def test_one_term_boxes_the_four_terms_of_the_pair_and_marks_one() -> None:
    terms = torch.arange(16.0).reshape(4, 4) - 8
    fig = drawings.one_term({"left": terms, "right": terms / 2}, (1, 3))
    left = fig.axes[0]
    assert left.images[0].get_clim() == (-8, 8)
    corners = {(box.get_x() + 0.5, box.get_y() + 0.5) for box in left.patches}
    assert corners == {(1, 1), (1, 3), (3, 1), (3, 3)}
    dot = left.lines[0]
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (3, 1)  # column j, row i
    assert plots._svg(fig, "term")


def test_scales_draw_each_method_in_its_color_and_gains_thin() -> None:
    names = ("none", "batch", "layer", "weight")
    curves = {name: [0.5, 1.0, 2.0] for name in names}
    fig = drawings.scales([0.1, 1.0, 10.0], curves, curves, {"batch": [2.0, 1.0, 0.1]})
    left, right = fig.axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == [drawings.LABELS[n] for n in names]
    assert [line.get_color() for line in right.lines[:4]] == [plots.COLORS[n] for n in names]
    assert right.lines[4].get_linewidth() < min(line.get_linewidth() for line in right.lines[:4])
    assert plots._svg(fig, "scales")
