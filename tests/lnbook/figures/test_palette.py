"""The colors of the norms are typed once."""

import re
from pathlib import Path

import pytest

from lnbook.figures.palette import COLORS, css_variables

ROOT = Path(__file__).resolve().parents[3]
BOOK = ROOT / "book"
STYLED = sorted(f for suffix in ("css", "js", "py") for f in BOOK.rglob(f"*.{suffix}"))


def test_the_declarations_name_every_norm_and_its_color():
    declared = dict(re.findall(r"--lnlib-([a-z]+):(#[0-9a-f]{6});", css_variables()))
    assert declared == COLORS


@pytest.mark.parametrize("name", COLORS)
def test_no_style_script_or_module_types_a_norms_color_again(name):
    typed = [f for f in STYLED if COLORS[name] in f.read_text(encoding="utf-8").lower()]
    assert [f.relative_to(BOOK).as_posix() for f in typed] == ["lnbook/figures/palette.py"]


def test_every_color_that_a_style_names_is_of_the_table_and_the_logo_has_no_other():
    for file in STYLED:
        for name in re.findall(r"var\(--lnlib-([a-z]+)\)", file.read_text(encoding="utf-8")):
            assert name in COLORS, f"{file.name} names the color of {name!r}"
    logo = (BOOK / "_static" / "logo.svg").read_text(encoding="utf-8")  # an image has no variables
    assert set(re.findall(r"#[0-9a-f]{6}", logo)) <= set(COLORS.values())
