"""The variants' pictures: who computes the same, and what training makes of each."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import plots
from lnbook.ledger.intervals import interval

INK, LAYER, BATCH = plots.INK, plots.COLORS["layer"], plots.COLORS["batch"]


def apart(matrix: Float[np.ndarray, "K K"], names: Sequence[str], groups: Sequence[Sequence[int]]) -> Figure:
    """Distances as an image, the networks sorted by group; a box around each group."""
    order = [k for group in groups for k in group]
    fig, ax = plots.subplots(figsize=(6.4, 5))
    image = ax.imshow(matrix[np.ix_(order, order)], vmin=0, vmax=1, cmap=plots.AMOUNT.reversed())
    first = 0
    for group in groups:
        n = len(group)
        ax.add_patch(Rectangle((first - 0.5, first - 0.5), n, n, fill=False, ec=BATCH, lw=2.2))
        first += n
    labels = [names[k] for k in order]
    ax.set_xticks(range(len(order)), labels, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(order)), labels)
    ax.grid(False)
    ax.tick_params(length=0)
    fig.colorbar(image, ax=ax, shrink=0.8, aspect=20, pad=0.03, label="distance of the outputs")
    return fig


def trained(panels: Mapping[str, Mapping[str, Sequence[float]]], lines: Mapping[str, float | None]) -> Figure:
    """For each panel, every run of each variant, with its mean and 95 % interval; a line to compare with."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.7))
    for ax, (title, runs) in zip(axes, panels.items(), strict=True):
        for place, values in enumerate(runs.values()):
            mean, low, high = interval(values)
            ax.plot(values, [place - 0.18] * len(values), "o", color=LAYER, ms=4, alpha=0.5, mew=0)
            ax.plot([max(low, 0), high], [place] * 2, color=LAYER, lw=2.4)
            ax.plot(mean, place, "D", color=LAYER, ms=6)
        if (line := lines.get(title)) is not None:
            ax.axvline(line, color=INK, lw=1, ls="--")
        ax.set_yticks(range(len(runs)), list(runs))
        ax.set(title=title, xlim=(0, None), ylim=(len(runs) - 0.5, -0.6))
        ax.tick_params(axis="y", length=0)
    return fig
