"""The appendix's pictures: what Eqs. (32) and (35) leave out, and what the magnitude's metric can see."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, BATCH = plots.INK, plots.COLORS["batch"]
LABELS = {"none": "no norm", "weight": "weight norm", "batch": "batch norm", "layer": "layer norm"}


def lost_factor(
    gains: Sequence[float],
    theory: Mapping[str, Sequence[float]],
    places: Sequence[float],
    measured: Mapping[str, Float[Tensor, "units gains"]],
) -> Figure:
    """True metric over Eq. (32) against the gain: lines for a normal input, bars for units on real data."""
    fig, ax = plots.subplots(figsize=(7.2, 3.6))
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


def one_term(matrices: Mapping[str, Float[Tensor, "H H"]], pair: tuple[int, int]) -> Figure:
    """The terms of the metric by pairs of rows; boxes: the four of one pair; dot: the one that is printed."""
    fig, axes = plots.subplots(1, len(matrices), figsize=(7.2, 3.7))
    extreme = max(float(terms.abs().max()) for terms in matrices.values())
    for ax, (title, terms) in zip(axes, matrices.items(), strict=True):
        image = ax.imshow(np.asarray(terms), vmin=-extreme, vmax=extreme)
        for i in pair:
            for j in pair:
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, ec=plots.INK, lw=1.8))
        ax.plot(pair[1], pair[0], "o", color=plots.INK, ms=5)
        ticks = range(0, len(terms), 3)
        ax.set(title=title, xlabel="row of $W$", xticks=ticks, yticks=ticks)
        ax.grid(False)
    axes[0].set_ylabel("row of $W$")
    fig.colorbar(image, ax=axes, shrink=0.75, aspect=18, pad=0.02)
    return fig


def scales(
    factors: Sequence[float],
    other_units: Mapping[str, Sequence[float]],
    weights: Mapping[str, Sequence[float]],
    gains: Mapping[str, Sequence[float]],
) -> Figure:
    """Metric relative to factor 1: inputs in other units (left); larger weights or, thin, gains (right)."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.6))
    for ax, curves in ((left, other_units), (right, weights)):
        for norm, values in curves.items():
            width = 3.2 if norm in ("none", "batch") else 1.6  # lines that coincide: one inside the other
            ax.loglog(factors, values, color=plots.COLORS[norm], ls=plots.LINES[norm], lw=width)
    for norm, values in gains.items():
        right.loglog(factors, values, color=plots.COLORS[norm], ls=plots.LINES[norm], lw=1)
    for norm in other_units:
        left.plot([], [], color=plots.COLORS[norm], ls=plots.LINES[norm], label=LABELS[norm])
    left.legend(loc="upper left")
    left.set(xlabel="inputs times $c$, weights over $c$", ylabel="metric, relative to $c=1$")
    right.set(xlabel="weights times $c$; thin: gains times $c$")
    return fig
