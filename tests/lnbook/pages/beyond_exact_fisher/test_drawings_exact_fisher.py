"""The exact Fisher's drawings take what was computed and return a figure that fits a page."""

import numpy as np
import pytest
import torch

from lnbook.figures import plots
from lnbook.pages.beyond_exact_fisher import drawings


def drawn(fig, name: str) -> str:
    return plots._svg(fig, name)


def test_costs_draw_both_ways_in_seconds_and_bytes() -> None:
    dense = [{"P": P, "seconds": P / 1e4, "bytes": 8 * P**2} for P in (10, 100)]
    product = [{"P": P, "seconds": P / 1e5, "bytes": 80 * P} for P in (10, 1000)]
    fig = drawings.costs(dense, product, 1e6)
    for ax, key in zip(fig.axes, ("seconds", "bytes"), strict=True):
        for line, rows in zip(ax.lines, (dense, product), strict=False):
            np.testing.assert_array_equal(line.get_ydata(), [r[key] for r in rows])
        assert ax.get_xscale() == ax.get_yscale() == "log"
    assert drawn(fig, "costs")


def test_blocks_sort_the_parameters_by_kind() -> None:
    kind = np.tile([1.0, 2.0, 3.0], 2)  # w_1, b_1, g_1, w_2, b_2, g_2, of one input
    F = torch.tensor(np.outer(kind, kind)) / 9
    fig = drawings.blocks({"layer norm": F, "batch norm": F}, H=2, D=1)
    shown = np.asarray(fig.axes[0].images[0].get_array())
    np.testing.assert_allclose(np.diag(shown) * 9, [1, 1, 4, 4, 9, 9])
    assert [text.get_text() for text in fig.axes[0].get_xticklabels()] == ["w", "b", "g"]
    assert drawn(fig, "blocks")


def test_nullities_write_every_count_and_mark_where_the_hidden_symmetry_begins() -> None:
    units, inputs = range(2, 8), range(1, 3)
    grid = np.array([[2, 3, 4, 5, 6, 7], [4, 3, 3, 3, 4, 5]])
    fig = drawings.nullities(units, inputs, grid)
    ax = fig.axes[0]
    assert [int(text.get_text()) for text in ax.texts] == grid.flatten().tolist()
    hidden = np.asarray(ax.images[0].get_array())
    for row, line in enumerate(ax.lines):
        first = int(line.get_xdata()[0] + 0.5)
        assert hidden[row, :first].max() == 0
        assert hidden[row, first:].min() > 0
    assert drawn(fig, "nullities")


def test_the_ellipse_of_inertia_is_that_of_the_rows() -> None:
    rows = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    steps = np.linspace(0, 1, 3)
    path = 1 + steps[:, None] * np.array([0.1, 0.1, -0.1, -0.1])
    fig = drawings.sliding(rows, path, steps, steps * 1e-16, steps)
    left, right = fig.axes
    ellipse = left.patches[0]
    assert sorted([ellipse.get_width(), ellipse.get_height()]) == pytest.approx([2 * 0.5**0.5, 2 * 2**0.5])
    assert left.lines[-1].get_xydata().tolist() == [[0, 0]]
    assert len(right.lines) == 2
    assert drawn(fig, "sliding")


def test_damping_puts_the_plain_gradient_beyond_the_last_damping() -> None:
    values = [1e-2, 1.0]
    natural = {"layer": [1e-3, 1e-1], "batch": [1e-4, 1e-2]}
    fig = drawings.damping(values, natural, {"layer": 0.3, "batch": 4.0})
    ends = [line.get_xdata()[0] for line in fig.axes[0].lines if len(line.get_xdata()) == 1]
    assert min(ends) > 1
    assert drawn(fig, "damping")


def test_learning_draws_every_method_twice_without_its_start() -> None:
    curve = np.array([2.0, 1.0, 0.5])
    band = {
        "step": np.arange(3.0),
        "seconds": np.arange(3) / 10,
        "mean": curve,
        "low": curve / 2,
        "high": 2 * curve,
    }
    fig = drawings.learning(dict.fromkeys(drawings.LOOKS, band), goal=0.7)
    for ax in fig.axes:
        assert len(ax.lines) == len(drawings.LOOKS) + 1
        np.testing.assert_allclose(ax.lines[0].get_ydata(), curve[1:])
    assert drawn(fig, "learning")
