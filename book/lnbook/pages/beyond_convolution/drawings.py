"""Pictures of normalizations over channels and space: who shares a mean."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool
from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.figures.blocks import BACK, block

COLORS = {
    "batch": plots.COLORS["batch"],
    "layer": plots.COLORS["layer"],
    "instance": plots.OTHERS["magenta"],
    "group": plots.OTHERS["teal"],
    "channels": plots.COLORS["layer"],
}


def cubes(marks: Mapping[str, Bool[np.ndarray, "N C P"]], titles: Mapping[str, str]) -> Figure:
    """A cube for each normalization, with the numbers that share a mean with the one in front, top right."""
    fig, axes = plots.subplots(2, 3, figsize=(5.4, 4.4))
    for ax, (norm, mark) in zip(axes.flat, marks.items(), strict=False):
        block(ax, mark, COLORS[norm])
        ax.set_title(titles[norm])
    last = axes.flat[-1]
    shape = next(iter(marks.values())).shape
    block(last, np.zeros(shape, dtype=bool), plots.INK)
    N, C, P = shape
    last.text(C / 2, -0.35, "channels C", ha="center", va="top")
    last.text(-0.3, P / 2, "positions P", ha="right", va="center", rotation=90)
    last.text(C + N * BACK[0] / 2 + 0.35, N * BACK[1] / 2 - 0.2, "cases N", ha="left", va="top")
    for ax in axes.flat:
        ax.set(xlim=(-0.2, C + N * BACK[0] + 0.2), ylim=(-0.2, P + N * BACK[1] + 0.2), aspect="equal")
        ax.axis("off")
    return fig
