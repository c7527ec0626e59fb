"""Section 3.1's pictures: what is held, capped and lost in one look; exponents, by theory and measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]
LOOKS: dict[str, dict[str, Any]] = {
    "none": {"color": NONE, "ls": ":"},
    "layer": {"color": LAYER, "ls": "-"},
    "inputs": {"color": LAYER, "ls": "-."},
}
NAME = {"va": "center", "size": 10}  # of a line
Runs = Float[np.ndarray, "networks places"]
Curve = Float[np.ndarray, " points"]
Curves = Mapping[str, Curve]


def story(sizes: Curves, by_lag: Mapping[tuple[str, float], Curve], distances: Curves) -> Figure:
    """Sizes of states by step, gradients by lag at two factors of the weights, distances of two copies."""
    fig, (left, middle, right) = plots.subplots(1, 3, figsize=(7.2, 3))
    for name, values in sizes.items():
        left.semilogy(values, **LOOKS["layer" if name == "layer norm" else "none"])
        on.name(left, name, [len(values)], values, (4, 0), **NAME)
    left.set(title="size of the state", xlabel="step", xlim=(0, 190), xticks=(0, 50, 100))
    for (norm, factor), values in by_lag.items():
        middle.semilogy(values, **LOOKS[norm])
        if norm == "layer" or factor > 1:  # below 1 the two lines are one
            on.name(middle, f"{factor:g}x", [len(values)], values, (4, 0), **NAME)
    middle.set(title="gradient", xlabel="steps back", xlim=(0, 70), xticks=(0, 25, 50))
    places = ("layer", [175], [1e-3]), ("inputs", [105], [1e-14]), ("none", [62], [1e-18])
    for (name, values), (look, x, y) in zip(distances.items(), places, strict=True):
        right.semilogy(values, **LOOKS[look])
        on.name(right, name, x, y, (0, 0), **NAME)
    right.set(title="distance of two copies", xlabel="step", xlim=(0, 330), ylim=(1e-20, 1e2))
    for ax in (left, middle, right):
        on.decades(ax.yaxis, ticks=6)
    return fig


def exponents(
    curves: Mapping[str, tuple[Curve, Curve]],
    measured: Mapping[str, tuple[Sequence[float], Runs]],
    shares: Mapping[float, tuple[Curve, Curve]],
    driven: tuple[Sequence[float], Mapping[float, Runs]],
) -> Figure:
    """Exponents by gain or scale, and by the state's share at some gains: lines theory, marks networks."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.2))
    labels = {"layer": ("layer norm, gain $g$", "o"), "none": ("plain, weights of scale $s$", "s")}
    for norm, (label, mark) in labels.items():
        left.semilogx(*curves[norm], **LOOKS[norm])
        on.runs(left, *measured[norm], mark, color=LOOKS[norm]["color"], label=label)
    on.exactly(left.xaxis, measured["layer"][0])
    left.set(xlabel="$g$ or $s$", title="without inputs", ylim=(-2.4, 0.8))
    for (gain, curve), line, mark in zip(shares.items(), ("--", "-.", "-"), "o^s", strict=True):
        right.plot(*curve, color=LAYER, ls=line, lw=1.4)
        on.runs(right, driven[0], driven[1][gain], mark, color=LAYER, label=f"$g = {gain:g}$")
    right.set(xlabel="share $r$ of the state", title="layer norm with inputs")
    left.set_ylabel(r"exponent $\lambda$ (nats per step)")
    for ax in (left, right):
        ax.axhline(0, color=INK, lw=0.8)
        ax.legend(loc="lower right")
    return fig
