"""The expressivity chapter's drawings show the numbers they are given, and fit a page."""

import numpy as np

from lnbook.figures import plots
from lnbook.pages.beyond_expressivity import drawings

RUNS = [[0.1, 0.3], [0.2, 0.2]]


def drawn(fig) -> bool:
    return len(plots._svg(fig, "drawn")) > 0


def test_exactly_the_keys_inside_the_hull_are_ringed() -> None:
    keys = np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.2, 0.1]])
    fig = drawings.unselectable_keys(keys, keys + 1, {4: {8: 0.1, 16: 0.5}, 8: {8: 0.0, 16: 0.2}})
    left, right = fig.axes
    rings = next(line for line in left.lines if line.get_label() == "unselectable")
    np.testing.assert_array_equal(rings.get_xydata(), keys[[0, 5]])
    assert list(right.lines[0].get_ydata()) == [0.1, 0.5]
    assert drawn(fig)


def test_the_ellipse_has_its_axes_and_a_line_for_each_gain() -> None:
    angle = np.linspace(0, 6, 20)
    outputs = np.stack([3 * np.cos(angle), np.sin(angle)], 1)
    fig = drawings.ellipse(outputs, np.diag([3.0, 1.0]), np.array([0.5, 1.0, 2.0]), np.array([0.7, 1.5]))
    left, right = fig.axes
    assert [tuple(t.xy) for t in left.texts] == [(3.0, 0.0), (0.0, 1.0)]
    np.testing.assert_array_equal(right.lines[1].get_xdata(), [0.7, 1.5])
    assert len(right.lines) == 2 + 3
    assert drawn(fig)


def test_merged_points_share_one_label() -> None:
    apart = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    fig = drawings.merging([apart, apart[[0, 1, 0]]], np.array([0, 1, 0]))
    assert [[t.get_text() for t in ax.texts] for ax in fig.axes] == [["1", "2", "3"], ["1 3", "2"]]
    assert drawn(fig)


def test_precision_and_rounding_are_means_with_bands() -> None:
    for fig in (
        drawings.precision((4, 8), {"float64": RUNS, "float32": RUNS[::-1]}),
        drawings.quantized((1, 10), {"gains in the norm": RUNS, "gains folded": RUNS[::-1]}),
    ):
        np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [0.2, 0.2])
        assert len(fig.axes[0].collections) == 2
        assert drawn(fig)


def test_logits_have_a_panel_for_each_step_size_and_a_line_for_each_seed() -> None:
    runs = np.arange(1.0, 13.0).reshape(2, 2, 3)
    fig = drawings.logits((0.1, 1.0), {"no norm": runs, "QK-norm": runs + 1})
    assert [ax.get_title() for ax in fig.axes] == ["step size 0.1", "step size 1"]
    np.testing.assert_array_equal(fig.axes[1].lines[0].get_ydata(), runs[1, 0])
    assert drawn(fig)


def test_labels_precisions_and_ways_of_rounding_have_no_hue_of_a_norm() -> None:
    circle = np.array([[1.0, 0.0], [0.0, 1.0]])
    figures = (
        drawings.merging([circle], np.array([0, 1])),
        drawings.precision((4, 8), {"float64": RUNS, "float32": RUNS, "bfloat16": RUNS}),
        drawings.quantized((1, 10), dict.fromkeys("abcd", RUNS)),
    )
    hues = {line.get_color() for fig in figures for ax in fig.axes for line in ax.lines}
    assert len(hues) >= 4
    assert not hues & set(plots.COLORS.values())
