"""The variants' drawings take what was computed and return a figure that fits a page."""

import numpy as np

from lnbook.figures import plots
from lnbook.pages.beyond_variants import drawings
from lnbook.pages.beyond_variants.measure import Memory


def test_distances_are_sorted_into_boxes_by_group() -> None:
    matrix = np.arange(9.0).reshape(3, 3)
    fig = drawings.apart(matrix, ["a", "b", "c"], [[0, 2], [1]])
    ax = fig.axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "c", "b"]
    np.testing.assert_array_equal(ax.images[0].get_array(), matrix[np.ix_([0, 2, 1], [0, 2, 1])])
    assert [(box.get_x(), box.get_width()) for box in ax.patches] == [(-0.5, 2), (1.5, 1)]
    assert plots._svg(fig, "apart")


def test_memories_draw_theory_as_lines_and_measurements_as_marks() -> None:
    raw = Memory(np.linspace(0.9, 0.5, 40), 0.1)
    carried = Memory(np.linspace(0.9, 0.1, 40), 0.1)
    fig = drawings.memories(raw, carried)
    lines = fig.axes[0].lines
    np.testing.assert_allclose(lines[0].get_ydata()[9], 2**-0.5)
    np.testing.assert_allclose(lines[3].get_ydata()[9], 1.1**-5)
    assert len(lines[1].get_xdata()) < 40
    assert plots._svg(fig, "memories")


def test_blanks_name_each_line_at_its_end_and_mark_the_largest_number() -> None:
    fig = drawings.blanks(range(4), {("paper", 1e-5): [1, 1e3, 1e6, 1e9], ("none", 1e-5): [1, 1, 1, 1]}, 1e6)
    ax = fig.axes[0]
    assert [t.get_text() for t in ax.texts] == ["separate, $10^{-5}$", "no norm", "largest float32"]
    assert ax.lines[-1].get_ydata()[0] == 1e6
    assert plots._svg(fig, "blanks")


def test_trained_runs_have_a_row_a_variant_from_the_top_with_mean_and_interval() -> None:
    panels = {"left": {"a": [1.0, 2.0, 3.0], "b": [4.0, 4.0, 7.0]}, "right": {"c": [5.0, 6.0]}}
    fig = drawings.trained(panels, {"left": 3.5})
    left, right = fig.axes
    assert [t.get_text() for t in left.get_yticklabels()] == ["a", "b"]
    assert left.lines[2].get_xdata()[0] == 2
    assert left.lines[-1].get_xdata()[0] == 3.5
    assert len(right.lines) == 3  # no line to compare with
    assert left.get_ylim()[0] > left.get_ylim()[1]
    assert plots._svg(fig, "trained")


def test_moves_print_each_error_and_the_ones_at_home_in_bold() -> None:
    errors = np.array([[1.0, 20.4, 3.0], [40.0, 5.6, 6.0]])
    fig = drawings.moves(errors, ["a", "b"], ["a", "b", "eps"])
    texts = fig.axes[0].texts
    assert [t.get_text() for t in texts] == ["1", "20", "3", "40", "6", "6"]
    assert [t.get_weight() for t in texts].count("bold") == 2
    assert plots._svg(fig, "moves")
