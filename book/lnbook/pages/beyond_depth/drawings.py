"""The depth chapter's pictures: marks of networks against the depth."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

LAYER, OTHERS = plots.COLORS["layer"], plots.OTHERS
LOOKS = {
    "norm before": (LAYER, "-", "o"),
    "scaled": (OTHERS["teal"], "-.", "^"),
    "norm after": (LAYER, "--", "s"),
    "DeepNorm": (OTHERS["magenta"], "-", "D"),
}
Runs = Float[np.ndarray, "_ _"]  # one row per seed, one column per depth or block


def growth(
    depths: Sequence[int],
    found: Mapping[str, Runs],
    predicted: Mapping[str, Sequence[float]],
    quantity: str,
) -> Figure:
    """A quantity against the depth, on logarithmic axes: marks are networks, lines predictions."""
    fig, ax = plots.subplots(figsize=(7.2, 3.6))
    for name, values in found.items():
        color, line, marker = LOOKS[name]
        ax.plot(depths, predicted[name], color=color, ls=line, lw=1.2)
        on.runs(ax, depths, values, marker, name, color=color)
    ax.set(xscale="log", yscale="log", xlabel="depth (blocks)", ylabel=quantity)
    on.exactly(ax.xaxis, depths)
    ax.legend(loc="best")
    return fig


def said(found: Mapping[str, Runs]) -> str:
    """The medians at both ends of each line, in words."""
    ends = {name: np.median(values, 0)[[0, -1]] for name, values in found.items()}
    return "; ".join(f"{name} from {first:.3g} to {last:.3g}" for name, (first, last) in ends.items())
