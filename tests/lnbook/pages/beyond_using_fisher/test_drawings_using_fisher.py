"""The drawings of the page take what was computed and return a figure that fits a page."""

import numpy as np

from lnbook.figures import plots
from lnbook.pages.beyond_using_fisher import drawings


def test_a_spectrum_shows_every_eigenvalue_and_both_counts():
    values = np.array([1e-17, 1e-16, 1e-3, 1.0])
    fig = drawings.spectrum(values, gauge=1, expected=2)
    points, norms, softmax = fig.axes[0].lines
    np.testing.assert_array_equal(points.get_ydata(), values)
    assert [line.get_xdata()[0] for line in (norms, softmax)] == [1.5, 2.5]
    assert plots._svg(fig, "spectrum")


def test_evidences_draw_a_line_for_each_scale_and_one_for_all():
    precisions = [0.1, 1.0]
    plain = {f: np.array([f, f + 1]) for f in (0.2, 1.0, 5.0)}
    fig = drawings.evidences(precisions, plain, np.array([7.0, 8.0]))
    lines = fig.axes[0].lines
    for line, expected in zip(lines, [*plain.values(), [7.0, 8.0]], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), expected)
    assert plots._svg(fig, "evidences")


def test_scales_and_directions_have_no_hue_of_a_norm():
    figures = (
        drawings.spectrum(np.array([1e-16, 1.0]), gauge=0, expected=1),
        drawings.evidences([0.1, 1.0], dict.fromkeys((0.2, 1.0, 5.0), np.ones(2)), np.ones(2)),
    )
    hues = {line.get_color() for fig in figures for ax in fig.axes for line in ax.lines}
    assert not hues & set(plots.COLORS.values())
