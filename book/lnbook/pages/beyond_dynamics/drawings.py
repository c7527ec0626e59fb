"""The dynamics chapter's pictures: copies that part, and exponents against gain and share."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]
STYLES = ("--", "-.", "-")  # from the smallest gain to the largest
Runs = Float[np.ndarray, "networks places"]
Curve = Float[np.ndarray, " points"]


def parting(distances: Mapping[str, Curve], rates: Mapping[str, float]) -> Figure:
    """Distances between two copies of networks; thin: the theory's rates."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    looks = ((LAYER, "-"), (plots.COLORS["weight"], "-."), (NONE, ":"))
    for (name, distance), (color, line) in zip(distances.items(), looks, strict=True):
        expected = distance[0] * np.exp(rates[name] * np.arange(len(distance)))
        ax.semilogy(np.where(expected <= distance.max(), expected, np.nan), color=INK, lw=0.8)
        ax.semilogy(distance, color=color, ls=line, lw=2.4, label=name)
    ax.set(xlabel="step", ylabel="distance between the copies", ylim=(1e-16, 1e1))
    on.decades(ax.yaxis, ticks=6)
    ax.legend(loc="center right", fontsize=9)
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
    shares: Curve, curves: Mapping[float, Curve], places: Sequence[float], measured: Mapping[float, Runs]
) -> Figure:
    """Exponents against the state's share for some gains: lines are theory, marks networks."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    ax.axhline(0, color=INK, lw=0.8)
    for (gain, curve), line, marker in zip(curves.items(), STYLES, "o^s", strict=True):
        ax.plot(shares, curve, color=LAYER, ls=line, lw=1.4)
        on.runs(ax, places, measured[gain], marker, color=LAYER, label=f"$g = {gain:g}$")
    ax.set(xlabel="share $r$ of the state", ylabel=r"exponent $\lambda$ (nats a step)")
    ax.legend(loc="lower right")
    return fig
