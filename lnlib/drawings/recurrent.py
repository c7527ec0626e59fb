"""Section 3.1's pictures: the drift of a recurrence, its gradients, long streams; and a network diagnosed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lnlib import plots

if TYPE_CHECKING:
    from lnlib.experiments.recurrent import Run
    from lnlib.rnn.diagnostics import Diagnosis

__all__ = ["diagnosis", "drift", "gradients", "long_streams", "trained"]

LAYER, BATCH, NONE, INK = plots.COLORS["layer"], plots.COLORS["batch"], plots.COLORS["none"], plots.INK
NAMES = {"none": "plain", "layer": "layer norm", "batch": "batch norm"}


def drift(linear: Mapping[str, Sequence[float]], measured: Mapping[str, Sequence[float]]) -> Figure:
    """Size by step: linear recurrences, and the summed inputs of networks that read.

    Names stand at the lines' ends; those that begin with "layer" or "ReLU" have a look of their own.
    """
    fig, axes = plots.subplots(1, 2, figsize=(7.2, 3.4))
    for ax, lines in zip(axes, (linear, measured), strict=True):
        for name, values in lines.items():
            special = {"layer": (LAYER, "-"), "ReLU": (INK, "-")}
            color, ls = next((look for key, look in special.items() if name.startswith(key)), (NONE, ":"))
            step = np.arange(1, len(values) + 1)
            ax.semilogy(step, values, color=color, ls=ls)
            ax.annotate(name, (step[-1], values[-1]), (4, 0), textcoords="offset points", va="center", size=9)
        ax.set(xlabel="step", xlim=(0, 1.5 * len(step)), xticks=np.linspace(0, len(step), 3))
    axes[0].set(title="size of a linear recurrence")
    axes[1].set(title=r"$\sigma^t$ of networks that read digits")
    return fig


def gradients(
    by_lag: Mapping[tuple[str, float], Sequence[float]],
    factors: Sequence[float],
    growth: Mapping[str, np.ndarray],
) -> Figure:
    """The gradient against lag at two factors; its growth a step against the factor, dots for seeds."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.6))
    for (norm, factor), values in by_lag.items():
        left.semilogy(values, color=plots.COLORS[norm], ls=plots.LINES[norm])
        if norm == "none" or factor > 1:
            at, below = len(values) // 2, norm == "layer" or factor < 1
            name = f"{factor:g}x" + ("" if norm == "layer" or factor > 1 else ", both")
            left.annotate(
                name, (at, values[at]), (4, -12 if below else 6), textcoords="offset points", size=9
            )
    left.set(xlabel="lag (steps)", title=r"gradient $\|\partial h^T/\partial x^{T-k}\|$")
    looks = {"none": (NONE, ":"), "layer": (LAYER, "-"), "separate": (LAYER, "--")}
    labels = {"none": "plain", "layer": "layer norm, Eq. (4)", "separate": "layer norm, separate"}
    for name, table in growth.items():
        color, ls = looks[name]
        right.semilogx(factors, table.mean(0), color=color, ls=ls, label=labels[name])
        right.semilogx(factors, table.T, ".", color=color, ms=4, alpha=0.6, mew=0)
    right.axhline(0, color=INK, lw=0.8)
    right.set_xticks(factors, [f"{f:g}" for f in factors])
    right.xaxis.set_minor_locator(NullLocator())
    right.set(xlabel=r"factor of $W_{hh}$", title="growth (nats a step)")
    right.legend(loc="lower right", fontsize=9)
    return fig


def trained(runs: Sequence[Run]) -> Figure:
    """Right answers and the gradient's growth after training, against the factor at the start."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.4))
    factors = sorted({run.factor for run in runs})
    for norm in ("none", "layer"):
        look = {"color": plots.COLORS[norm], "ls": plots.LINES[norm], "label": NAMES[norm]}
        for ax, value in ((left, lambda r: r.beyond), (right, lambda r: r.growth[1])):
            table = np.array([[value(r) for r in runs if (r.norm, r.factor) == (norm, f)] for f in factors])
            ax.semilogx(factors, table.mean(1), **look)
            ax.semilogx(factors, table, ".", color=plots.COLORS[norm], ms=5, mew=0)
    for ax in (left, right):
        ax.set_xticks(factors, [f"{f:g}" for f in factors])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set(xlabel=r"factor of $W_{hh}$ at the start")
    left.set(title="right answers (%)", ylim=(0, 100))
    left.legend(loc="lower left")
    right.set(title="growth after training (nats a step)")
    right.axhline(0, color=INK, lw=0.8)
    return fig


def long_streams(groups: Mapping[str, Sequence[Run]], edges: Sequence[int]) -> Figure:
    """Right answers by step, on a logarithmic axis; the steps of training shaded. Dots are the seeds."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    middles = np.sqrt(np.array(edges[:-1]) * np.array(edges[1:]))
    ax.axvspan(edges[0], edges[1], color=NONE, alpha=0.2, lw=0)
    ax.annotate(
        "as in training",
        (edges[0], 0.03),
        (4, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        size=9,
    )
    for name, runs in groups.items():
        norm = runs[0].norm
        table = np.array([run.right for run in runs])
        ls = (0, (1, 1)) if "any" in name else plots.LINES[norm]
        ax.semilogx(middles[: table.shape[1]], table.mean(0), color=plots.COLORS[norm], ls=ls, label=name)
        ax.semilogx(middles[: table.shape[1]], table.T, ".", color=plots.COLORS[norm], ms=4, mew=0, alpha=0.6)
    ax.set_xticks(edges, [f"{e:,}" for e in edges])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel="step", title="right answers (%)")
    ax.legend(loc="lower right", ncols=2, fontsize=9)
    return fig


def diagnosis(found: Diagnosis) -> Figure:
    """Magnitudes, saturation, singular values by step, gradient by lag; bands hold half of the cases."""
    fig, ((size, saturated), (stretch, lag)) = plots.subplots(2, 2, figsize=(7.2, 5.4))
    trace = found.trace
    _band(size, trace.h.square().mean(-1).sqrt().numpy(), LAYER, "root mean square of h")
    _band(size, trace.std.numpy(), BATCH, r"$\sigma^t$ of summed inputs", "--")
    size.set(title="magnitude", xlabel="step", ylim=(0, None))
    size.legend()
    _band(saturated, 100 * trace.saturation.numpy(), LAYER, "")
    saturated.set(title="saturated units (%)", xlabel="step", ylim=(0, 100))
    _band(stretch, found.singular_values[..., 0].numpy(), LAYER, "largest")
    _band(stretch, found.singular_values.median(-1).values.numpy(), NONE, "median", ":")
    stretch.axhline(1, color=INK, lw=0.8)
    stretch.set(title="singular values of the Jacobian", xlabel="step", yscale="log")
    stretch.legend()
    lag.semilogy(found.gradient_by_lag.numpy(), color=LAYER)
    lag.set(title=rf"gradient by lag; $\lambda$ = {found.lyapunov.median():.2f} a step", xlabel="lag")
    return fig


def _band(ax: Axes, values: np.ndarray, color: str, label: str, ls: str = "-") -> None:
    """The median of the cases by step, and the quartiles around it; values are (T, N)."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=1)
    step = np.arange(1, len(values) + 1)
    ax.plot(step, middle, color=color, ls=ls, label=label)
    ax.fill_between(step, low, high, color=color, alpha=0.2, lw=0)
