"""Numbers to colors: maps that fade from a color of the palette into the ground of either theme.

A color that is transparent at zero lies on the page as it is, white or dark. So one drawing serves both
themes, zero looks like nothing in either, and `INK` is readable on it.
"""

from matplotlib import colormaps
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgba

from lnbook.figures.palette import AMOUNT_COLOR, SIGN_COLORS

__all__ = ["AMOUNT", "SIGNED"]


def _fading(name: str, *stops: tuple[float, str, float]) -> Colormap:
    """A map through places from 0 to 1, colors, and how opaque they are there; an odd size has a middle."""
    return LinearSegmentedColormap.from_list(name, [(at, to_rgba(c, a)) for at, c, a in stops], N=257)


#: From nothing to much: 0 is the ground.
AMOUNT = _fading("lnlib-amount", (0, AMOUNT_COLOR, 0), (1, AMOUNT_COLOR, 1))

#: From negative to positive: the middle is the ground.
SIGNED = _fading(
    "lnlib-signed",
    (0, SIGN_COLORS[0], 1),
    (0.5, SIGN_COLORS[0], 0),
    (0.5, SIGN_COLORS[1], 0),
    (1, SIGN_COLORS[1], 1),
)
colormaps.register(SIGNED, force=True)  # Matplotlib's settings know a map by its name
