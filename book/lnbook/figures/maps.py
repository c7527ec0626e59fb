"""Color maps that fade from a color of the palette into the background of either theme.

Where a color is transparent, at zero, the page shows through, white or dark. So one drawing serves both
themes, zero is invisible in either, and `INK` is readable on it.
"""

from matplotlib import colormaps
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgba

from lnbook.figures.palette import AMOUNT_COLOR, SIGN_COLORS


def _fading(name: str, *stops: tuple[float, str, float]) -> Colormap:
    """A map through stops: a place from 0 to 1, a color, its opacity. Being of odd size, it has a middle."""
    return LinearSegmentedColormap.from_list(name, [(at, to_rgba(c, a)) for at, c, a in stops], N=257)


#: From nothing to much: 0 is the background.
AMOUNT = _fading("lnlib-amount", (0, AMOUNT_COLOR, 0), (1, AMOUNT_COLOR, 1))

#: From negative to positive: the middle is the background.
SIGNED = _fading(
    "lnlib-signed",
    (0, SIGN_COLORS[0], 1),
    (0.5, SIGN_COLORS[0], 0),
    (0.5, SIGN_COLORS[1], 0),
    (1, SIGN_COLORS[1], 1),
)
colormaps.register(SIGNED, force=True)  # Matplotlib's settings refer to a map by its name
