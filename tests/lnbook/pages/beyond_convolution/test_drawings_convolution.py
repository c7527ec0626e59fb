"""The drawings of the five reductions take what was computed and return a figure that fits a page."""

import numpy as np
import pytest
from legible import READABLE, smallest

from lnbook.figures import plots
from lnbook.pages.beyond_convolution import drawings
from lnbook.pages.beyond_convolution.reductions import FIVE

TITLES = {norm: title for norm, (title, _) in FIVE.items()}


def faces(ax) -> list[bool]:
    """Of each square that is filled or left open, whether it is filled."""
    return [patch.get_facecolor()[3] > 0 for patch in ax.patches[::2]]


def test_cubes_fill_the_squares_of_marked_numbers_on_the_three_faces_that_are_seen():
    shape = (2, 3, 4)
    marks = {norm: np.zeros(shape, dtype=bool) for norm in FIVE}
    marks["layer"][0] = True  # the front, an edge of the side and one of the top
    marks["batch"][:, -1] = True  # the side, an edge of the front and one of the top
    fig = drawings.cubes(marks, TITLES)
    counts = {norm: sum(faces(ax)) for norm, ax in zip(FIVE, fig.axes, strict=False)}
    assert counts == {"batch": 8 + 4 + 2, "layer": 12 + 4 + 3, "instance": 0, "group": 0, "channels": 0}
    assert len(faces(fig.axes[0])) == 12 + 8 + 6
    assert [ax.get_title() for ax in fig.axes[:5]] == list(TITLES.values())
    assert [t.get_text() for t in fig.axes[5].texts] == ["channels C", "positions P", "cases N"]
    assert plots._svg(fig, "cubes")


def test_padding_has_a_bar_and_a_line_for_each_normalization():
    border = {norm: 2.0 * k for k, norm in enumerate(FIVE)}
    padded = {norm: [0.0, 10.0 * k, 20.0 * k] for k, norm in enumerate(FIVE)}
    fig = drawings.padding(border, padded, [0.0, 0.3, 0.6], TITLES)
    bars, lines = fig.axes
    assert [bar.get_width() for bar in bars.patches] == list(border.values())
    assert [t.get_text() for t in bars.texts] == ["0.0", "2.0", "4.0", "6.0", "8.0"]
    np.testing.assert_allclose(lines.lines[0].get_xdata(), [0, 30, 60])
    assert [list(line.get_ydata()) for line in lines.lines] == list(padded.values())
    assert len({(line.get_color(), line.get_linestyle()) for line in lines.lines}) == 5
    assert plots._svg(fig, "padding")


@pytest.mark.parametrize("name", ["cubes", "padding"])
def test_the_text_can_be_read_on_a_phone(name):
    marks = {norm: np.ones((3, 4, 4), dtype=bool) for norm in FIVE}
    values = dict.fromkeys(FIVE, 1.0)
    fig = {
        "cubes": lambda: drawings.cubes(marks, TITLES),
        "padding": lambda: drawings.padding(values, {norm: [0.0, 1.0] for norm in FIVE}, [0.0, 0.5], TITLES),
    }[name]()
    assert smallest(fig) >= READABLE
