"""The colors of the norms are typed once, and nothing else has their hues."""

import colorsys
import re
from pathlib import Path

import pytest

from lnbook.figures import plots
from lnbook.figures.palette import COLORS, OTHERS

ROOT = Path(__file__).resolve().parents[3]
BOOK = ROOT / "book"
STYLED = sorted(f for suffix in ("css", "js", "py") for f in BOOK.rglob(f"*.{suffix}"))


def hue(color: str) -> float:
    """In degrees."""
    return 360 * colorsys.rgb_to_hsv(*(int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)))[0]


@pytest.mark.parametrize("other", OTHERS)
def test_no_other_color_has_the_hue_of_a_norm(other):
    for norm in COLORS.keys() - {"none"}:  # gray
        apart = abs(hue(OTHERS[other]) - hue(COLORS[norm]))
        assert min(apart, 360 - apart) > 20, norm  # less than half the 62 degrees between blue and purple


def test_what_is_drawn_without_a_color_of_its_own_does_not_get_one_of_a_norm():
    cycle = plots.style["axes.prop_cycle"].by_key()["color"]
    assert not set(cycle) & set(COLORS.values())


def test_no_drawing_and_no_interactive_figure_types_a_color():
    """Six digits; all names of colors that they use are of the palette."""
    rooms = [f for f in STYLED if "lnbook" in f.parts and {"pages", "shared", "explore"} & set(f.parts)]
    typed = {f.name: re.findall(r"#[0-9a-fA-F]{6}\b", f.read_text(encoding="utf-8")) for f in rooms}
    assert {name: colors for name, colors in typed.items() if colors} == {}


@pytest.mark.parametrize("name", COLORS)
def test_no_style_script_or_module_types_a_norms_color_again(name):
    typed = [f for f in STYLED if COLORS[name] in f.read_text(encoding="utf-8").lower()]
    assert [f.relative_to(BOOK).as_posix() for f in typed] == ["lnbook/figures/palette.py"]


def test_every_color_that_a_style_names_is_of_the_table_and_the_logo_has_no_other():
    for file in STYLED:
        for name in re.findall(r"var\(--lnlib-([a-z]+)\)", file.read_text(encoding="utf-8")):
            assert name in COLORS | OTHERS, f"{file.name} names the color of {name!r}"
    logo = (BOOK / "_static" / "logo.svg").read_text(encoding="utf-8")  # an image has no variables
    assert set(re.findall(r"#[0-9a-f]{6}", logo)) <= set(COLORS.values())
