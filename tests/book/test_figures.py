"""Figures in pages: which a phone would make too small to read."""

import figures

from lnbook.figures.plots import _svg, subplots


def drawing(width: float) -> str:
    fig, ax = subplots(figsize=(width, 3))
    ax.set_xlabel("updates")
    return _svg(fig, "toy")


def test_a_wide_drawing_has_letters_that_a_phone_makes_too_small_and_a_narrow_one_has_not():
    assert figures.smallest_letters(drawing(7.2)) < figures.READABLE <= figures.smallest_letters(drawing(5))
