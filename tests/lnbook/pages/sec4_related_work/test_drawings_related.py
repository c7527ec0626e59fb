"""Section 4's pictures show the numbers they are given."""

import numpy as np
import pytest
from legible import READABLE, smallest
from matplotlib.colors import to_rgba

from lnbook.figures import plots
from lnbook.pages.sec4_related_work import drawings as related

METHODS = ("none", "weight", "layer", "batch", "input, by step", "input, by sequence")


def filled(ax, method: str) -> int:
    return sum(patch.get_facecolor() == to_rgba(plots.COLORS[method]) for patch in ax.patches)


def test_blocks_fill_the_faces_of_what_is_averaged_and_nothing_else() -> None:
    sequence, step, layer, weight = related.averages().axes
    n = related.CELLS
    # a slab shows its front and two edges; a column of cases its front and one cell on top; a row of units
    # the top and one cell in front; the weights lie beside the block
    assert [filled(ax, "batch") for ax in (sequence, step)] == [n * n + 2 * n, n + 1]
    assert filled(layer, "layer") == n + 1
    assert filled(weight, "weight") == n
    assert all(len(ax.patches) == 3 * n * n for ax in (sequence, step, layer))


def test_rays_draw_a_curve_a_method_in_both_panels() -> None:
    t = np.linspace(-1, 1, 5)
    one = {"weight": t, "layer": np.sign(t)}
    left, right = related.rays(t, one, {name: y + 1 for name, y in one.items()}).axes
    assert [line.get_ydata().tolist() for line in left.lines] == [y.tolist() for y in one.values()]
    assert right.lines[0].get_ydata().tolist() == (t + 1).tolist()


def test_side_by_side_marks_means_and_says_which_diverged() -> None:
    errors = {method: [10.0, 20.0, 30.0] for method in METHODS}
    few = {"none": [40.0, 50.0, 60.0], "batch": [np.nan]}
    left, right = related.side_by_side({"a": errors, "b": few}).axes
    means = [line.get_xdata()[0] for line in left.lines if line.get_marker() == "o"]
    assert means == pytest.approx([20.0] * 6)
    assert [label.get_text() for label in left.get_yticklabels()] == [related.NAME[m] for m in METHODS]
    (text,) = right.texts
    assert text.get_text() == "diverged"
    assert text.get_position()[1] == METHODS.index("batch")


def test_gains_join_the_two_errors_of_each_seed() -> None:
    errors = {(m, g): [10 * g + k for k in range(3)] for m in ("batch", "layer") for g in (0.1, 1.0)}
    lag = {("none", 1.0): np.ones(4), ("batch", 0.1): np.array([1, 2, 4, 8.0])}
    left, right = related.gains(lag, errors).axes
    assert left.lines[1].get_ydata().tolist() == [1, 2, 4, 8]
    assert len(right.lines) == 2 * (3 + 1)
    assert right.lines[3].get_ydata() == pytest.approx([2, 11])


def test_labels_of_lengths_stay_in_order_and_apart() -> None:
    ends = dict(zip(METHODS, (50.0, 51.0, 52.0, 80.0, 10.0, 51.0), strict=True))
    errors = {method: {8: 5.0, 16: 7.0, 32: end} for method, end in ends.items()}
    (ax,) = related.lengths(errors).axes
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert set(heights) == set(related.NAME.values())
    in_order = [heights[related.NAME[m]] for m in sorted(ends, key=lambda m: ends[m])]
    assert np.diff(in_order).min() >= 6 - 1e-9
    assert heights["batch norm, by step"] == pytest.approx(80)
    assert heights["input only, by step"] == pytest.approx(10)


def test_all_labels_are_legible_on_a_phone() -> None:
    t = np.linspace(-1, 1, 5)
    errors = {(m, g): [10.0, 12.0] for m in ("batch", "layer") for g in (0.1, 1.0)}
    by_method = {method: [10.0, 20.0] for method in METHODS}
    figures = (
        related.averages(),
        related.rays(t, {"layer": t}, {"layer": t}),
        related.side_by_side({"batches of 32": by_method, "batches of 8": {"batch": [np.nan]}}),
        related.gains({("none", 1.0): np.ones(4)}, errors),
        related.lengths({method: {8: 5.0, 16: 7.0} for method in METHODS}),
    )
    assert min(smallest(figure) for figure in figures) >= READABLE
