"""Section 5.1's drawings show what was computed: one mark a cell, agreement and its absence."""

import numpy as np
import torch
from legible import READABLE, smallest

from lnbook.figures import plots
from lnbook.pages.sec5_1_invariance import drawings
from lnlib.invariance import BEYOND, COLUMNS, METHODS, table1

ROWS = table1(layers=1)


def words(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def red(fig) -> int:
    return sum(
        p.get_edgecolor() == (0.75, 0.0, 0.0, 1.0) or p.get_linewidth() == 3 for p in fig.axes[0].patches
    )


def test_table_1_has_the_papers_word_and_our_filling_in_each_cell() -> None:
    fig = drawings.table1(ROWS)
    assert words(fig.axes[0]).count("invariant") == 10
    assert words(fig.axes[0]).count("no") == 8
    filled = [p for p in fig.axes[0].patches if 0 < p.get_facecolor()[3] < 1]
    assert len(filled) == 10
    assert red(fig) == 0
    assert smallest(fig) >= READABLE
    assert plots._svg(fig, "table")


def test_a_cell_that_disagrees_is_framed() -> None:
    wrong = [ROWS[0]._replace(invariant=False), *ROWS[1:]]
    assert red(drawings.table1(wrong)) == 1


def test_conditions_mark_what_is_left_and_what_is_broken() -> None:
    panels = {
        "flip": table1(delta=-2.0),
        "eps": table1(eps=1e-3),
        "bias": table1(input_bias=1.0),
        "frozen": table1(frozen=True),
    }
    fig = drawings.conditions(panels)
    assert smallest(fig) >= READABLE
    marks = [words(ax) for ax in fig.axes]
    assert [m.count("\u2713") for m in marks] == [2, 4, 5, 6]
    assert [m.count(sign) for m, sign in zip(marks, "±≈××", strict=True)] == [8, 6, 5, 4]


def test_beyond_leaves_a_cell_without_invariance_empty() -> None:
    rows = table1(METHODS, transformations=COLUMNS + BEYOND, layers=1)
    fig = drawings.beyond(rows)
    assert smallest(fig) >= READABLE
    ax = fig.axes[0]
    assert len(ax.texts) == sum(row.verdict != "no" for row in rows)
    assert [label.get_text() for label in ax.get_xticklabels()] == list(METHODS)


def test_eps_error_draws_a_line_an_epsilon_in_order() -> None:
    v = [1e-3, 1e-1, 10.0]
    lines = {e: [e / x for x in v] for e in (1e-3, 1e-5, 1e-6, 1e-12)}
    fig = drawings.eps_error(
        v, lines, {e: (v, y) for e, y in lines.items()}, dict.fromkeys(lines, "x"), (1, 2)
    )
    ax = fig.axes[0]
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines[::2]], list(lines.values()))
    assert ax.get_yscale() == "log"
    assert smallest(fig) >= READABLE


def test_pictures_show_a_digit_at_every_other_step() -> None:
    contrast, brightness = [0.25, 0.5, 1.0, 2.0, 4.0], [-1.0, -0.5, 0.0, 0.5, 1.0]
    errors = {m: ([9.0] * 5, [50.0] * 5) for m in ("none", "layer", "layer, bias inside")}
    fig = drawings.pictures(contrast, brightness, errors, torch.rand(8, 8))
    assert [len(ax.images) for ax in fig.axes[:2]] == [3, 3]
    assert [t.get_text() for t in fig.axes[2].get_xticklabels()] == ["1/4", "1", "4"]
    assert smallest(fig) >= READABLE
    assert plots._svg(fig, "pictures")
