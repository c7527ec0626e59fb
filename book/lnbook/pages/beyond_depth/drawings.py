"""The depth chapter's pictures: lines against the depth, means of networks with 95 % intervals.

What grows by powers of the depth is drawn on logarithmic axes, and its means are geometric.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.intervals import interval

LAYER, OTHERS = plots.COLORS["layer"], plots.OTHERS
# The scaling is what this page is about; DeepNorm and norms on both sides never share its panels.
LOOKS = {
    "norm before": (LAYER, "-", "o"),
    "scaled": (OTHERS["teal"], "-.", "^"),
    "norm after": (LAYER, "--", "s"),
    "DeepNorm": (OTHERS["magenta"], "-", "D"),
    "both sides": (OTHERS["olive"], ":", "v"),
}
Runs = Float[np.ndarray, "_ _"]  # one row per seed, one column per depth or block


def growth(
    depths: Sequence[int],
    found: Mapping[str, Runs],
    predicted: Mapping[str, Sequence[float]],
    quantity: str,
) -> Figure:
    """A quantity against the depth, on logarithmic axes: geometric means over lines for what is predicted."""
    fig, ax = plots.subplots(figsize=(7.2, 3.6))
    for name, values in found.items():
        color, line, _ = LOOKS[name]
        if name in predicted:
            ax.plot(depths, predicted[name], color=color, ls=line, lw=1.2)
        _marks(ax, depths, _means(values, logs=True), name)
    ax.set(xscale="log", yscale="log", xlabel="depth (blocks)", ylabel=quantity)
    on.exactly(ax.xaxis, depths)
    ax.legend(loc="best")
    return fig


def by_block(found: Mapping[str, Runs], quantity: str, *, block: str = "block", logs: bool = False) -> Figure:
    """A quantity of each block, a line for each placement; `logs`: geometric means, logarithmic axis."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    for name, values in found.items():
        color, line, _ = LOOKS[name]
        numbers = range(1, values.shape[1] + 1)
        means = _means(values, logs)
        ax.plot(numbers, means[0], color=color, ls=line, lw=1.2)
        _marks(ax, numbers, means, name)
    ax.set(xlabel=block, ylabel=quantity, xticks=numbers, yscale="log" if logs else "linear")
    ax.legend(loc="best")
    return fig


def rows(places: Sequence[int], found: Mapping[str, Runs], *, logs: bool = True) -> list[dict[str, object]]:
    """What is drawn, as rows: name, depth or block, mean and 95 % interval, of logarithms or not."""
    return [
        {"name": name, "place": place, "mean": mean, "low": low, "high": high}
        for name, values in found.items()
        for place, (mean, low, high) in zip(places, _means(values, logs).T, strict=True)
    ]


def said(found: Mapping[str, Runs], *, logs: bool = True) -> str:
    """The means at both ends of each line, in words."""
    ends = {name: _means(values, logs)[0, [0, -1]] for name, values in found.items()}
    return "; ".join(f"{name} from {first:.3g} to {last:.3g}" for name, (first, last) in ends.items())


def _means(values: Runs, logs: bool) -> Float[np.ndarray, "3 places"]:
    """Mean, low and high of each column; with `logs` of the logarithms, put back."""
    found = np.array([interval(column) for column in (np.log(values) if logs else values).T]).T
    return np.exp(found) if logs else found


def _marks(ax: Axes, places: Sequence[int], means: Float[np.ndarray, "3 places"], name: str) -> None:
    """Means with intervals."""
    color, _, marker = LOOKS[name]
    on.bars(ax, places, means.T, fmt=marker, color=color, ms=4, capsize=2, lw=1.2, label=name)
