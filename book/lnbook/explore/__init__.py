"""Interactive figures: a Python builder and one small script each, no network, no kernel.

The builder of the figure `axis_flip` is `lnbook.explore.axis_flip.axis_flip`. A page imports the figures that
it shows, and no others: it runs anew where one of these changes.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from lnbook.explore.element import Element

__all__ = ["FIGURES", "FOLDER", "builder"]

FOLDER = Path(__file__).parent  # of the scripts and styles, beside their builders

FIGURES = (
    "axis_flip",
    "case_scale",
    "fisher_ellipse",
    "five_reductions",
    "gain_and_bias",
    "invariance_playground",
    "offset",
    "recurrent_drift",
    "residual_depth",
    "strokes",
    "writing",
)


def builder(name: str) -> Callable[..., Element]:
    """What builds the figure of that name, one of `FIGURES`.

    >>> builder("axis_flip")(seed=3)
    <interactive figure: The axis flip>
    """
    found: Callable[..., Element] = getattr(import_module(f"lnbook.explore.{name}"), name)
    return found
