"""Section 3.1's pictures: the drift of a recurrence, its gradients, long streams; and a network diagnosed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.pages.sec3_1_recurrent.measure import Run
from lnlib.rnn.diagnostics import Diagnosis

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
    _growths(right, factors, growth)
    on.exactly(right.xaxis, factors[::2])
    right.set(xlabel=r"factor of $W_{hh}$", title="growth (nats per step)")
    return fig


def by_strength(strengths: Sequence[float], growth: Mapping[str, np.ndarray]) -> Figure:
    """The gradient's growth a step against the strength of the input; dots for seeds."""
    fig, ax = plots.subplots(figsize=(5.6, 3.2))
    _growths(ax, strengths, growth)
    on.exactly(ax.xaxis, strengths)
    ax.set(xlabel="strength of the input", title="growth (nats per step)")
    return fig


def _growths(ax: Axes, at: Sequence[float], growth: Mapping[str, np.ndarray]) -> None:
    """Growth a step of plain, layer normalized and separately normalized networks, seeds by columns of at."""
    looks = {"none": (NONE, ":"), "layer": (LAYER, "-"), "separate": (LAYER, "--")}
    labels = {"none": "plain", "layer": "Eq. (4)", "separate": "separate"}
    for kind, table in growth.items():
        color, ls = looks[kind]
        ax.semilogx(at, table.mean(0), color=color, ls=ls, label=labels[kind])
        ax.semilogx(at, table.T, ".", color=color, ms=4, alpha=0.6, mew=0)
    ax.axhline(0, color=INK, lw=0.8)
    ax.legend(loc="best")


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


def long_streams(groups: Mapping[str, Sequence[Run]], edges: Sequence[int]) -> Figure:
    """Right answers by step, on a logarithmic axis; the steps of training shaded. Dots are the seeds."""
    fig, ax = plots.subplots(figsize=(5.6, 3.6))
    middles = np.sqrt(np.array(edges[:-1]) * np.array(edges[1:]))
    ax.axvspan(edges[0], edges[1], color=NONE, alpha=0.2, lw=0)
    ax.text(edges[0] * 1.1, 0.03, "as in training", transform=ax.get_xaxis_transform(), size=10)
    for name, runs in groups.items():
        color, line = plots.COLORS[runs[0].norm], plots.LINES[runs[0].norm]
        table = np.array([run.right for run in runs]).T
        x = middles[: len(table)]
        ax.semilogx(x, table.mean(1), color=color, ls=(0, (1, 1)) if "any" in name else line, label=name)
        ax.semilogx(x, table, ".", color=color, ms=5, mew=0, alpha=0.5)
    on.exactly(ax.xaxis, edges)
    ax.set(xlabel="step", title="right answers (%)")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return fig


def diagnosis(found: Diagnosis) -> Figure:
    """Magnitudes, saturation, singular values by step, gradient by lag; bands hold half of the cases."""
    fig, ((size, saturated), (stretch, lag)) = plots.subplots(2, 2, figsize=(5.6, 5))
    trace = found.trace
    _band(size, trace.h.square().mean(-1).sqrt().numpy(), LAYER, "size of h")
    _band(size, trace.std.numpy(), INK, r"$\sigma^t$ of summed inputs", "--")
    size.set(title="magnitude", xlabel="step", ylim=(0, None))
    size.legend()
    _band(saturated, 100 * trace.saturation.numpy(), LAYER, "")
    saturated.set(title="saturated units (%)", xlabel="step", ylim=(0, 100))
    _band(stretch, found.singular_values[..., 0].numpy(), LAYER, "largest")
    _band(stretch, found.singular_values.median(-1).values.numpy(), NONE, "median", ":")
    stretch.axhline(1, color=INK, lw=0.8)
    stretch.set(title="singular values", xlabel="step", yscale="log")
    on.plain(stretch.yaxis)
    stretch.legend()
    lag.semilogy(found.gradient_by_lag.numpy(), color=LAYER)
    lag.set(title=rf"gradient, $\lambda$ = {found.lyapunov.median():.2f}", xlabel="lag")
    return fig


def _band(ax: Axes, values: np.ndarray, color: str, label: str, ls: str = "-") -> None:
    """The median of the cases by step, and the quartiles around it; values are (T, N)."""
    quartiles = np.quantile(values, (0.5, 0.25, 0.75), axis=1).T
    on.band(ax, np.arange(1, len(values) + 1), quartiles, color=color, ls=ls, label=label)
