"""Color maps: one drawing, which shows the background of either theme where there is nothing."""

import base64
import io
import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from lnbook.figures import plots
from lnbook.figures.palette import AMOUNT_COLOR, SIGN_COLORS

PAPER, NIGHT = (1.0, 1.0, 1.0), to_rgb("#121212")  # the theme's two page colors


def on(ground: tuple[float, float, float], rgba: np.ndarray) -> np.ndarray:
    """What is seen of a color on a background."""
    rgba = np.asarray(rgba)
    return rgba[..., 3:] * rgba[..., :3] + (1 - rgba[..., 3:]) * np.array(ground)


def brightness(rgb: np.ndarray) -> np.ndarray:
    """WCAG's relative luminance."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def contrast(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """WCAG 2's ratio of relative luminances."""
    low, high = np.sort(np.broadcast_arrays(brightness(one), brightness(other)), axis=0)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", plots.INK), ("#14181e", plots.INK_DARK)])
def test_every_method_is_visible_on_both_themes_and_has_a_line_style_of_its_own(ground, ink) -> None:
    assert plots.COLORS.keys() == plots.LINES.keys()
    assert len(set(map(str, plots.LINES.values()))) == len(plots.LINES)
    colors = np.array([to_rgb(color) for color in plots.COLORS.values()])
    assert contrast(colors, np.array(to_rgb(ground))).min() >= 3
    assert contrast(np.array(to_rgb(ink)), np.array(to_rgb(ground))) >= 7


@pytest.mark.parametrize("ground", [PAPER, NIGHT])
def test_the_ends_of_the_maps_are_colors_of_the_palette_and_nothing_is_the_ground(ground) -> None:
    negative, positive = SIGN_COLORS
    ends = ((plots.AMOUNT, 1.0, AMOUNT_COLOR), (plots.SIGNED, 0.0, negative), (plots.SIGNED, 1.0, positive))
    for colors, at, color in ends:
        np.testing.assert_allclose(on(ground, colors(at)), to_rgb(color))
        assert color in plots.OTHERS.values()
    for colors, nothing in ((plots.AMOUNT, 0.0), (plots.SIGNED, 0.5)):
        np.testing.assert_allclose(on(ground, colors(nothing)), ground)


@pytest.mark.parametrize(("ground", "sign"), [(PAPER, -1), (NIGHT, 1)])
def test_more_is_farther_from_the_ground_at_each_step(ground, sign) -> None:
    amounts = np.linspace(0, 1, 129)
    for values in (plots.AMOUNT(amounts), plots.SIGNED(0.5 + amounts / 2), plots.SIGNED(0.5 - amounts / 2)):
        assert (np.diff(sign * brightness(on(ground, values))) > 0).all()


@pytest.mark.parametrize(("ground", "ink"), [(PAPER, plots.INK), (NIGHT, plots.INK_DARK)])
def test_ink_is_readable_on_the_colors_that_numbers_are_written_on(ground, ink) -> None:
    """Two thirds of the full color at most: `nullities` and `moves` leave that much room above."""
    under = on(ground, plots.AMOUNT(np.linspace(0, 2 / 3, 50)))
    assert contrast(np.array(to_rgb(ink)), under).min() >= 4.5  # WCAG AA for text


def test_a_drawn_map_shows_the_page_where_it_is_zero() -> None:
    fig, ax = plots.subplots(figsize=(2, 2))
    ax.imshow([[0.0, -1.0], [1.0, 0.0]])  # without a map of its own: that of signs
    found = re.search(r"data:image/png;base64,([^\"]+)", plots._svg(fig, "signs"))
    assert found is not None
    image = Image.open(io.BytesIO(base64.b64decode(found[1]))).convert("RGBA")
    pixels = np.asarray(image) / 255
    seen = [on(ground, pixels) for ground in (PAPER, NIGHT)]
    alike = (seen[0] == seen[1]).all(-1).mean()
    assert 0.4 < alike < 0.6  # two of the four fields are not zero, give or take the width of their edges
    shown = {tuple(np.round(255 * c).astype(int)) for c in pixels[pixels[..., 3] == 1][:, :3]}
    assert shown == {tuple(np.round(255 * np.array(to_rgb(c))).astype(int)) for c in SIGN_COLORS}
