"""The one table of colors: of Matplotlib's figures, of the interactive ones, and of the pages."""

from typing import Any

# Contrast >= 3:1 on white and on the dark theme's background; the line style tells them apart too.
COLORS = {
    "none": "#7d7f85",
    "batch": "#d9730d",
    "layer": "#2f7fd6",
    "weight": "#2c9a53",
    "rms": "#9b59d0",
}
# What is no norm: programs, data sets, signs, marks of what is wrong. No hue of a norm says anything else.
OTHERS = {"red": "#d1345b", "teal": "#12868f", "olive": "#8f8300", "magenta": "#c2389a"}
# Of the maps in `plots.py`. The signs are 49 apart or more (CIE 1976) for eyes that lack a kind of cone.
AMOUNT_COLOR, SIGN_COLORS = OTHERS["teal"], (OTHERS["olive"], OTHERS["magenta"])
LINES: dict[str, Any] = {"none": ":", "batch": "--", "layer": "-", "weight": "-.", "rms": (0, (5, 1, 1, 1))}

# Text, axes and ticks are drawn in INK; the build replaces it by INK_DARK in the twin for the dark theme.
INK, INK_DARK = "#21262c", "#dfe3e8"
GRID, GRID_DARK = "#d3d7dc", "#454a50"


def css_variables() -> str:
    """The colors as declarations for a style sheet.

    >>> css_variables().split(";")[2]
    '--lnlib-layer:#2f7fd6'
    """
    return "".join(f"--lnlib-{name}:{color};" for name, color in (COLORS | OTHERS).items())
