"""The colors: typed once, told apart by anyone, visible and readable on both themes, and zero is the page."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from lnbook.figures import plots
from lnbook.figures.palette import AMOUNT_COLOR, COLORS, INK, INK_DARK, LINES, OTHERS, SIGN_COLORS

BOOK = Path(__file__).resolve().parents[3] / "book"
STYLED = sorted(f for suffix in ("css", "js", "py") for f in BOOK.rglob(f"*.{suffix}"))
themes = pytest.mark.parametrize(("ground", "ink"), [("#ffffff", INK), ("#121212", INK_DARK)])


def on(ground: str, rgba: np.ndarray) -> np.ndarray:
    """What is seen of a color on a background."""
    rgba = np.asarray(rgba)
    return rgba[..., 3:] * rgba[..., :3] + (1 - rgba[..., 3:]) * np.array(to_rgb(ground))


def brightness(rgb: np.ndarray) -> np.ndarray:
    """WCAG's relative luminance."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def contrast(one: np.ndarray, other: str) -> np.ndarray:
    """WCAG 2's ratio of relative luminances."""
    low, high = np.sort(np.broadcast_arrays(brightness(one), brightness(np.array(to_rgb(other)))), axis=0)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", INK), ("#14181e", INK_DARK)])
def test_every_method_is_visible_on_both_themes_and_has_a_line_style_of_its_own(ground, ink) -> None:
    assert COLORS.keys() == LINES.keys()
    assert len(set(map(str, LINES.values()))) == len(LINES)
    assert contrast(np.array([to_rgb(color) for color in COLORS.values()]), ground).min() >= 3
    assert contrast(np.array(to_rgb(ink)), ground) >= 7


@themes
def test_a_map_goes_from_the_page_to_a_color_and_ink_is_readable_on_it(ground, ink) -> None:
    for colors, nothing in ((plots.AMOUNT, 0.0), (plots.SIGNED, 0.5)):
        np.testing.assert_allclose(on(ground, colors(nothing)), to_rgb(ground))
    ends = (plots.AMOUNT(1.0), plots.SIGNED(0.0), plots.SIGNED(1.0))
    for drawn, color in zip(ends, (AMOUNT_COLOR, *SIGN_COLORS), strict=True):
        np.testing.assert_allclose(on(ground, drawn), to_rgb(color))
    amounts, away = np.linspace(0, 1, 129), -1 if ground == "#ffffff" else 1
    for values in (plots.AMOUNT(amounts), plots.SIGNED(0.5 + amounts / 2), plots.SIGNED(0.5 - amounts / 2)):
        assert (np.diff(away * brightness(on(ground, values))) > 0).all()  # more is farther from the ground
    # Two thirds of the full color at most: `nullities` and `moves` leave that much room above.
    under = on(ground, plots.AMOUNT(np.linspace(0, 2 / 3, 50)))
    assert contrast(under, ink).min() >= 4.5  # WCAG AA for text


def test_colors_are_typed_in_the_palette_alone_and_all_that_a_style_names_are_there():
    for file in STYLED:
        text = file.read_text(encoding="utf-8")
        if {"pages", "shared", "explore"} & set(file.parts):
            assert re.findall(r"#[0-9a-fA-F]{6}\b", text) == [], file
        if file.name != "palette.py":
            assert not [color for color in COLORS.values() if color in text.lower()], file
        assert set(re.findall(r"var\(--lnlib-([a-z]+)\)", text)) <= COLORS.keys() | OTHERS.keys(), file
    logo = (BOOK / "_static" / "logo.svg").read_text(encoding="utf-8")  # an image has no variables
    assert set(re.findall(r"#[0-9a-f]{6}", logo)) <= set(COLORS.values())
