"""Section 5.2's pictures: Fisher matrices, and weights that grow."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from torch import Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots

Band = Float[np.ndarray, "seeds points"]
INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]


def fisher_images(matrices: Mapping[str, Float[Tensor, "P P"]], H: int, D: int) -> Figure:
    """Fisher matrices of H units as images on one color scale, lines between units, blocks labelled."""
    rows = len(matrices) // 2 + 1  # two in a row, and a place for the colors
    fig, axes = plots.subplots(rows, 2, figsize=(5.6, 2.6 * rows))
    extreme = max(float(F.abs().max()) for F in matrices.values())
    starts = np.arange(H) * (D + 2)
    places = [start + at for start in starts for at in (D / 2, D + 0.5, D + 1.5)]
    names = [f"${letter}_{i + 1}$" for i in range(H) for letter in "wbg"]
    for ax, (title, F) in zip(axes.flat, matrices.items(), strict=False):
        n = len(F)
        image = ax.imshow(
            F.numpy(), vmin=-extreme, vmax=extreme, extent=(0, n, n, 0), interpolation="nearest"
        )
        for edge in starts[1:]:
            ax.axvline(edge, color=INK, lw=1)
            ax.axhline(edge, color=INK, lw=1)
        ax.set(title=title, xticks=places, yticks=places)
        ax.set_xticklabels(names)
        ax.set_yticklabels(names)
        ax.grid(False)
        ax.tick_params(length=0, pad=2)
    for ax in axes.flat[len(matrices) :]:
        ax.axis("off")
    fig.colorbar(image, cax=axes[-1, -1].inset_axes((0.1, 0.1, 0.08, 0.8)))
    return fig


def rates(
    growth: Mapping[float, Float[np.ndarray, " updates"]], loss: Mapping[str, Band], tried: Sequence[float]
) -> Figure:
    """Left, the norm of the weights by learning rate; right, the last loss against it, by way to train."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.6, 3.5))
    for (rate, values), width in zip(growth.items(), (1, 1.6, 2.4, 3.4), strict=False):
        update = np.arange(1, len(values) + 1)
        left.loglog(update, values, color=LAYER, lw=width)
        on.name(left, f"{rate:g}", update, values, (4, -4))
    left.set(xlabel="update", title="norm of the weights (start: 1)")
    left.set_xlim(1, 3 * len(values))
    for (name, values), color, line in zip(loss.items(), (LAYER, INK, INK), ("-", "--", ":"), strict=True):
        for seed in values:
            right.loglog(tried, seed, "o", color=color, alpha=0.4, ms=4, mew=0)
        right.loglog(tried, values.mean(0), color=color, ls=line, label=name)
    right.set(xlabel="learning rate of the weights", title="training loss at the end", ylim=(None, 6))
    on.exactly(right.xaxis, tried)
    on.exactly(right.yaxis, [0.1, 0.2, 0.5, 1, 2])
    right.legend(loc="upper left")
    on.plain(left.yaxis, subs=(1, 3))
    left.xaxis.set_minor_locator(NullLocator())
    return fig
