"""The dynamics chapter's pictures: copies that part, exponents against everything, gradients through time."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, NONE, LAYER, BATCH = plots.INK, plots.COLORS["none"], plots.COLORS["layer"], plots.COLORS["batch"]
STYLES = (":", "--", "-.", "-")  # from the smallest factor to the largest
Runs = Float[np.ndarray, "networks places"]
Curve = Float[np.ndarray, " points"]


def parting(
    unit: Float[np.ndarray, "T 2"], distances: Mapping[str, Curve], rates: Mapping[str, float]
) -> Figure:
    """One unit in two copies of the first network, while they part; distances in all; the theory's rates."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.3))
    first = next(iter(distances.values()))
    middle = int(np.argmax(first > 0.1 * first.max()))
    window = np.arange(max(0, middle - 40), min(len(first), middle + 40))
    left.plot(window, unit[window, 0], color=LAYER)
    left.plot(window, unit[window, 1], color=BATCH, ls="--")
    left.set(xlabel="step", title="one unit in two copies", ylim=(-1.05, 1.05))
    looks = ((LAYER, "-"), (plots.COLORS["weight"], "-."), (NONE, ":"))
    for (name, distance), (color, line) in zip(distances.items(), looks, strict=True):
        expected = distance[0] * np.exp(rates[name] * np.arange(len(distance)))
        right.semilogy(np.where(expected <= distance.max(), expected, np.nan), color=INK, lw=0.8)
        right.semilogy(distance, color=color, ls=line, lw=2.4, label=name)
    right.set(xlabel="step", title="distance between the copies", ylim=(1e-16, 1e1))
    on.decades(right.yaxis, ticks=6)
    right.legend(loc="center right", fontsize=9)
    return fig


def by_gain(
    gains: Curve,
    curves: Mapping[str, Curve],
    places: Sequence[float],
    measured: Mapping[str, Runs],
) -> Figure:
    """Exponents against the factor of the summed inputs, by norm: lines are theory, marks networks."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    ax.axhline(0, color=INK, lw=0.8)
    names = {"layer": ("layer norm, gain $g$", "o"), "none": ("no norm, weights of scale $s$", "s")}
    for norm, (label, marker) in names.items():
        ax.semilogx(gains, curves[norm], color=plots.COLORS[norm], ls=plots.LINES[norm])
        on.runs(ax, places, measured[norm], marker, color=plots.COLORS[norm], label=label)
    ax.set(xlabel="$g$ or $s$", ylabel=r"exponent $\lambda$ (nats a step)", ylim=(-1.5, 0.8))
    on.exactly(ax.xaxis, places)
    ax.legend(loc="lower right")
    return fig


def by_share(
    shares: Curve,
    curves: Mapping[float, Curve],
    places: Sequence[float],
    measured: Mapping[float, Runs],
    gains: Curve,
    critical: Curve,
) -> Figure:
    """Exponents against the state's share for some gains; the share at which they are zero for all gains."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.5))
    left.axhline(0, color=INK, lw=0.8)
    for (gain, curve), line, marker in zip(curves.items(), STYLES[1:], "o^s", strict=True):
        left.plot(shares, curve, color=LAYER, ls=line, lw=1.4)
        on.runs(left, places, measured[gain], marker, color=LAYER, label=f"$g = {gain:g}$")
    left.set(xlabel="share $r$ of the state", ylabel=r"exponent $\lambda$", title="theory and measurement")
    left.legend(loc="lower right")
    right.plot(gains, critical, color=LAYER)
    right.fill_between(gains, critical, 1, color=LAYER, alpha=0.25, lw=0)
    right.text(0.96 * gains[-1], 0.9, "copies part", ha="right", va="center")
    right.text(0.45 * gains[-1], 0.25, "copies meet", ha="center", va="center")
    right.set(xlabel="gain $g$", ylabel="share $r$ of the state", title="where the exponent is 0")
    right.set(xlim=(0, gains[-1]), ylim=(0, 1))
    return fig


def by_size(measured: Mapping[int, Runs], theory: Mapping[float, float]) -> Figure:
    """Exponents against the number of units, a line through the means of each gain; theory at the right."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    ax.axhline(0, color=INK, lw=0.8)
    sizes = list(measured)
    for k, (gain, limit) in reversed(list(enumerate(theory.items()))):
        means = [values[:, k].mean() for values in measured.values()]
        ax.plot(sizes, means, color=LAYER, marker="v^os"[k], ms=5, lw=1, label=f"$g = {gain:g}$")
        ax.plot((sizes[-1], 2.5 * sizes[-1]), [limit] * 2, color=INK, lw=1.4)
    ax.set(xscale="log", xlabel="units $H$", ylabel=r"exponent $\lambda$ (nats a step)")
    on.exactly(ax.xaxis, [*sizes, 2.5 * sizes[-1]], [*map(str, sizes), r"$\infty$"])
    ax.legend(loc="lower right")
    return fig


def gradients(
    norms: Mapping[str, Float[np.ndarray, "T S"]],
    rates: Mapping[str, Sequence[float]],
    factors: Sequence[float],
) -> Figure:
    """Gradient norms against lag, without a norm and with layer norm; dotted: what theory expects."""
    fig, axes = plots.subplots(1, 2, figsize=(7.2, 3.5), sharey=True)
    looks = {"none": ("no norm", "s"), "layer": ("layer norm", "g")}
    for ax, (norm, (title, letter)) in zip(axes, looks.items(), strict=True):
        lag = np.arange(len(norms[norm]))
        for curve, rate in zip(norms[norm].T, rates[norm], strict=True):
            ax.plot(lag, np.log10(curve), color=plots.COLORS[norm])
            ax.plot([0, lag[-1]], [0, rate * lag[-1] / np.log(10)], color=INK, lw=0.8, ls=":")
        for factor, y in zip(factors, _spread(np.log10(norms[norm][-1]), 7), strict=True):
            ax.text(1.03 * lag[-1], y, f"${letter} = {factor:g}$", va="center", fontsize=9)
        ax.set(xlabel="lag (steps)", title=title, xlim=(0, 1.3 * lag[-1]))
        ax.set_xticks(lag[:: len(lag) // 4])
    axes[0].set_ylabel("norm of the gradient")
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"$10^{{{y:.0f}}}$"))
    return fig


def lstms(
    forget: Sequence[float],
    inputs: Sequence[str],
    measured: Mapping[str, Float[np.ndarray, "draws forget inputs"]],
) -> Figure:
    """Exponents of LSTMs against the forget bias, one panel per input strength; marks: networks."""
    fig, axes = plots.subplots(1, len(inputs), figsize=(7.2, 3.5), sharey=True)
    looks = {"paper": (LAYER, "-", "o"), "joint": (plots.OTHERS["teal"], "--", "^"), "none": (NONE, ":", "s")}
    labels = {"paper": "layer norm, the paper's", "joint": "layer norm, joint", "none": "no norm"}
    for panel, (ax, title) in enumerate(zip(axes, inputs, strict=True)):
        ax.axhline(0, color=INK, lw=0.8)
        for name, (color, line, marker) in looks.items():
            values = measured[name][:, :, panel]
            ax.plot(forget, values.mean(0), color=color, ls=line)
            on.runs(ax, forget, values, marker, color=color, label=labels[name])
        ax.set(title=title, xlabel="forget bias", xticks=forget)
    axes[0].set_ylabel(r"exponent $\lambda$ (nats a step)")
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncols=3)
    return fig


def _spread(places: Curve, apart: float) -> Curve:
    """Places for labels: about where they belong, in their order, and so far apart."""
    order = np.argsort(places)
    spread = places.astype(float)
    for lower, upper in pairwise(order):
        spread[upper] = max(spread[upper], spread[lower] + apart)
    return spread - (spread - places).mean()
