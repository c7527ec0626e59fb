"""Section 3.1's pictures: the drift of a recurrence, and its gradients before and after training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.pages.sec3_1_recurrent.measure import Run

LAYER, NONE, INK = plots.COLORS["layer"], plots.COLORS["none"], plots.INK
NAMES = {"none": "plain", "layer": "layer norm", "batch": "batch norm"}


def drift(linear: Mapping[str, np.ndarray], measured: Mapping[str, np.ndarray]) -> Figure:
    """Size by step: linear recurrences, and the summed inputs of networks that read."""
    fig, axes = plots.subplots(1, 2, figsize=(5.6, 3))
    for ax, lines in zip(axes, (linear, measured), strict=True):
        for name, values in lines.items():
            special = {"layer": (LAYER, "-"), "ReLU": (INK, "-")}
            color, ls = next((look for key, look in special.items() if name.startswith(key)), (NONE, ":"))
            _named(ax, name, np.arange(1, len(values) + 1), values, color, ls)
        ax.set(xlabel="step", xlim=(0, 1.75 * len(values)), xticks=np.linspace(0, len(values), 3))
    axes[0].set(title="a linear recurrence")
    axes[1].set(title=r"$\sigma^t$, reading digits")
    return fig


def _named(ax: Axes, name: str, x: np.ndarray, y: np.ndarray, color: str, ls: Any) -> None:
    """A line on a logarithmic axis with its name at its end."""
    ax.semilogy(x, y, color=color, ls=ls)
    on.name(ax, name, x, y, (4, 0), va="center", size=10)


def gradients(
    by_lag: Mapping[tuple[str, float], np.ndarray],
    factors: Sequence[float],
    growth: Mapping[str, np.ndarray],
) -> Figure:
    """The gradient against lag at two factors; its growth a step against the factor, dots for seeds."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.6, 3.2))
    for (norm, factor), values in by_lag.items():
        name = f"{factor:g}x" if norm == "layer" or factor > 1 else ""  # below 1 the two lines are one
        _named(left, name, np.arange(len(values)), values, plots.COLORS[norm], plots.LINES[norm])
    left.set(xlabel="lag (steps)", title="gradient by lag", xlim=(0, 1.3 * len(values)))
    looks = {
        "none": (NONE, ":", "plain"),
        "layer": (LAYER, "-", "Eq. (4)"),
        "separate": (LAYER, "--", "separate"),
    }
    for kind, table in growth.items():
        color, ls, label = looks[kind]
        right.semilogx(factors, table.mean(0), color=color, ls=ls, label=label)
        right.semilogx(factors, table.T, ".", color=color, ms=4, alpha=0.6, mew=0)
    right.axhline(0, color=INK, lw=0.8)
    right.legend(loc="best")
    on.exactly(right.xaxis, factors[::2])
    right.set(xlabel=r"factor of $W_{hh}$", title="growth (nats per step)")
    return fig


def trained(runs: Sequence[Run]) -> Figure:
    """Right answers and the gradient's growth after training, against the factor at the start."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.6, 3))
    factors = sorted({run.factor for run in runs})
    for norm in ("none", "layer"):
        for ax, what in ((left, "beyond"), (right, "growth")):
            table = [[getattr(r, what) for r in runs if (r.norm, r.factor) == (norm, f)] for f in factors]
            color = plots.COLORS[norm]
            ax.semilogx(factors, np.mean(table, 1), color=color, ls=plots.LINES[norm], label=NAMES[norm])
            ax.semilogx(factors, table, ".", color=color, ms=5, mew=0)
    for ax in (left, right):
        on.exactly(ax.xaxis, factors)
        ax.set(xlabel=r"$W_{hh}$'s factor at the start")
    left.set(title="right answers (%)", ylim=(0, 100))
    left.legend(loc="lower left")
    right.set(title="growth (nats per step)")
    right.axhline(0, color=INK, lw=0.8)
    return fig
