"""What networks reach, how a unit responds, how variance grows with depth: a mark a network."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

NONE, LAYER, OTHERS = plots.COLORS["none"], plots.COLORS["layer"], plots.OTHERS
COLORS = {"without a norm": NONE, "dynamic tanh": OTHERS["red"]}
COLORS |= dict.fromkeys(
    (
        "layer norm",
        "layer norm, W2 over root L",
        "layer norm, W2 = 0",
        "trained with norms",
        "trained on: with norms",
    ),
    LAYER,
)
LOOKS = {
    "layer norm": (LAYER, "-"),
    "dynamic tanh": (OTHERS["red"], "--"),
    "divided by the prediction": (OTHERS["teal"], "-"),
    "not divided": (NONE, ":"),
}
Seeds = Float[np.ndarray, " seeds"]


def dots(panels: Mapping[str, Mapping[str, Seeds]], quantity: str) -> Figure:
    """What networks of each way reach: one panel per setting, one row per way, small marks: networks."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 2.8), sharey=True, squeeze=False)
    for ax, (title, found) in zip(axes[0], panels.items(), strict=True):
        for row, (name, values) in enumerate(found.items()):
            color = COLORS.get(name, OTHERS["teal"])
            ax.plot(values, [row] * len(values), ".", color=color, ms=4, alpha=0.5)
            ax.plot(np.mean(values), row, "o", color=color, ms=6)
        ax.set(title=title, xlabel=quantity, yticks=range(len(found)), yticklabels=list(found))
        ax.set_ylim(len(found) - 0.5, -0.5)
    return fig


def responses(
    t: Float[np.ndarray, " points"],
    curves: Mapping[str, Float[np.ndarray, " points"]],
    cases: Sequence[int],
    ratios: Sequence[Seeds],
) -> Figure:
    """Left: one unit's output. Right: dynamic tanh's loss over layer norm's, against the training cases."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.2))
    for name, y in curves.items():
        color, line = LOOKS[name]
        left.plot(t, y, color=color, ls=line, label=name)
    left.set(xlabel="unit less the others' mean", ylabel="output")
    left.legend(loc="upper left")
    right.axhline(1, color=LAYER, lw=1.2)
    on.runs(right, cases, np.transpose(ratios), "o", color=OTHERS["red"])
    right.set(xscale="log", yscale="log", xlabel="training cases", ylabel="test loss over layer norm's")
    on.exactly(right.xaxis, cases)
    low, high = min(map(np.min, ratios)), max(map(np.max, ratios))
    marks = [
        m for m in (0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 4, 8) if low <= m <= high or m == 1
    ]
    on.exactly(right.yaxis, marks)
    return fig


def growth(
    found: Mapping[str, Float[np.ndarray, "seeds blocks"]], predicted: Mapping[str, Sequence[float]]
) -> Figure:
    """The stream's variance behind every block, a line predicted and a mark measured."""
    fig, ax = plots.subplots(figsize=(7.2, 3.2))
    for name, values in found.items():
        color, line = LOOKS[name]
        blocks = np.arange(values.shape[1])
        shown = blocks[:: max(1, len(blocks) // 12)]
        ax.plot(blocks, predicted[name], color=color, ls=line, lw=1.2)
        on.runs(ax, shown, values[:, shown], "o", name, color=color)
    ax.set(yscale="log", xlabel="blocks", ylabel="variance of the stream")
    ax.legend(loc="upper left")
    return fig


def rows(panels: Mapping[str, Mapping[str, Seeds]]) -> list[dict[str, object]]:
    """What is drawn, as rows: setting, way, number of the network, value."""
    return [
        {"setting": setting, "way": way, "network": network, "value": value}
        for setting, ways in panels.items()
        for way, values in ways.items()
        for network, value in enumerate(values)
    ]
