"""Interactive figures: a Python builder and one small script each, no network, no kernel.

The builder of the figure `axis_flip` is `lnbook.explore.axis_flip.axis_flip`. `strokes` and `writing` replay
what their pages have trained; the others can be built from a seed alone.
"""

from collections.abc import Callable
from importlib import import_module

from lnbook.explore.element import FOLDER, Element

__all__ = ["FIGURES", "FOLDER", "builder"]

FIGURES = (
    "axis_flip",
    "fisher_ellipse",
    "five_reductions",
    "gain_and_bias",
    "invariance_playground",
    "offset",
    "projection",
    "recurrent_drift",
    "residual_depth",
)


def builder(name: str) -> Callable[..., Element]:
    """What builds the figure of that name."""
    found: Callable[..., Element] = getattr(import_module(f"lnbook.explore.{name}"), name)
    return found
