"""Pictures of normalizations over channels and space: who shares a mean, and what padding does to it."""

from collections.abc import Mapping, Sequence

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
LINES = {
    "batch": plots.LINES["batch"],
    "layer": plots.LINES["layer"],
    "instance": (0, (7, 2)),
    "group": plots.LINES["weight"],
    "channels": ":",
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


def padding(
    border: Mapping[str, float],
    padded: Mapping[str, Sequence[float]],
    shares: Sequence[float],
    titles: Mapping[str, str],
) -> Figure:
    """How far padding moves what is no padding, in %: a picture's center, and a sequence's own steps."""
    fig, (left, right) = plots.subplots(2, 1, figsize=(5.4, 5.6), height_ratios=(1, 1.5))
    rows = range(len(border))
    left.barh(rows, list(border.values()), color=[COLORS[norm] for norm in border])
    for row, value in zip(rows, border.values(), strict=True):
        left.annotate(f"{value:.1f}", (value, row), (4, 0), textcoords="offset points", va="center")
    left.set_yticks(rows, [titles[norm] for norm in border])
    left.tick_params(axis="y", length=0)
    left.set(title="center of a picture, zeros around it: change (%)", ylim=(len(border) - 0.4, -0.6))
    left.set_xlim(0, 1.15 * max(border.values()))
    left.grid(axis="y", visible=False)
    for norm, values in padded.items():
        right.plot(100 * np.asarray(shares), values, color=COLORS[norm], ls=LINES[norm], label=titles[norm])
    right.set(title="steps of a sequence, zeros after it: change (%)", xlabel="share of padding (%)")
    right.set_ylim(-3, None)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig
