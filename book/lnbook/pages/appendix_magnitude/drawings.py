"""The appendix's picture: what Eq. (32) leaves out."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, BATCH = plots.INK, plots.COLORS["batch"]


def lost_factor(
    gains: Sequence[float],
    theory: Mapping[str, Sequence[float]],
    places: Sequence[float],
    measured: Mapping[str, Float[Tensor, "units gains"]],
) -> Figure:
    """True metric over Eq. (32) against the gain: lines for a normal input, bars for units on real data."""
    fig, ax = plots.subplots(figsize=(7.2, 3.1))
    for name, values in theory.items():
        ax.semilogy(gains, values, color=INK, lw=1.4)
        on.name(ax, name, gains, values, (14, 0), color=INK, va="center")
    for marker, ratio in zip("os", measured.values(), strict=True):
        middle, ends = ratio.median(0).values, ratio.aminmax(dim=0)
        on.bars(ax, places, np.stack([middle, *ends], 1), fmt=marker, color=BATCH, ms=6)
    ax.set(xlabel="gain $g$", ylabel="true metric over Eq. (32)", xlim=(0, gains[-1] * 1.04))
    ax.set_xticks([0, *places])
    on.plain(ax.yaxis)
    return fig
