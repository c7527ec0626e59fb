"""Figures in pages: their dark twins, and which of them a phone would make too small to read."""

import doctest
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_ext"))

import figures

from lnbook.figures.plots import _svg, subplots


def drawing(width: float) -> str:
    fig, ax = subplots(figsize=(width, 3))
    ax.set_xlabel("updates")
    return _svg(fig, "toy")


def test_a_wide_drawing_has_letters_that_a_phone_makes_too_small_and_a_narrow_one_has_not():
    assert figures.smallest_letters(drawing(7.2)) < figures.READABLE <= figures.smallest_letters(drawing(5))


def test_a_dark_twin_has_the_ground_of_its_page_when_it_is_opened_alone():
    twin = figures.dark_twin(drawing(5))
    assert twin.count(f'<svg style="background:{figures.GROUND_DARK}"') == 1
    assert "style" not in drawing(5).partition("<svg ")[2].partition(">")[0]


def test_the_examples_run():
    assert doctest.testmod(figures) == (0, 3)
