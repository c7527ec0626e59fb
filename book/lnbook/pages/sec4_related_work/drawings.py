"""Section 4's pictures: what is averaged over, and first gains."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import plots
from lnbook.figures.blocks import block

INK = plots.INK
NAME = {
    "none": "none",
    "weight": "weight norm",
    "layer": "layer norm",
    "batch": "batch norm, by step",
    "input, by step": "input only, by step",
    "input, by sequence": "input only, by sequence",
}
CELLS, AT = 5, 2  # cells along each axis; the step that is shaded


def averages() -> Figure:
    """Blocks of summed inputs, time by case by unit; the cells of one mean and deviation are filled."""
    fig, axes = plots.subplots(1, 4, figsize=(5.9, 2.4))
    marks = np.zeros(
        (4, CELLS, CELLS, CELLS), dtype=bool
    )  # units to the back, steps to the right, cases down
    marks[0][0] = marks[1][0, AT] = marks[2][:, AT, 0] = True
    titles = "batch norm,\nby sequence", "batch norm,\nby step", "layer norm", "weight norm"
    for ax, mark, title in zip(axes, marks, titles, strict=True):
        block(ax, mark, plots.COLORS[title.split()[0]])
        ax.set_title(title, fontsize=10)
        ax.set(xlim=(-1.1, 8.2), ylim=(-2.4, 7.2), aspect="equal")
        ax.axis("off")
    axes[0].text(CELLS / 2, -0.2, "time", ha="center", va="top", fontsize=10)
    axes[0].text(-0.2, CELLS / 2, "case", ha="right", va="center", rotation=90, fontsize=10)
    axes[0].text(CELLS + 1.6, 0.8, "unit", ha="left", va="top", fontsize=10)
    for k in range(CELLS):  # the row of weights of one unit, instead of data
        weight = Rectangle((0.6 * k, -0.9), 0.6, 0.6, fc=plots.COLORS["weight"], ec=INK, lw=0.6)
        axes[3].add_patch(weight)
    axes[3].text(-0.1, -1.1, "a unit's weights", va="top", fontsize=10)
    return fig


def gains(
    lag: Mapping[tuple[str, float], Float[np.ndarray, " T"]],
    errors: Mapping[tuple[str, float], Sequence[float]],
) -> Figure:
    """Gradients at the start against lag for two gains, and test errors after training from them."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.9, 3.2), width_ratios=(3, 2))
    for (method, gain), values in lag.items():
        style = {"color": plots.COLORS[method], "ls": "-" if gain == 1 else "--"}
        left.semilogy(values, label=f"{method}, {gain:g}" if method != "none" else "none", **style)
    left.axhline(1, color=INK, lw=0.8)
    left.set(xlabel="steps back", title="gradient at the start", ylim=(1e-7, 1e9))
    left.legend(loc="upper left", ncol=2)
    for place, method in enumerate(("batch", "layer")):
        pairs = np.array([errors[method, gain] for gain in (0.1, 1.0)])
        at = np.array([0, 1]) + 3 * place
        right.plot(at, pairs, color=plots.COLORS[method], lw=0.8, alpha=0.6)
        right.plot(at, pairs.mean(1), "o-", color=plots.COLORS[method], lw=2.4)
        right.text(at.mean(), 3, NAME[method].split(",")[0], ha="center", color=INK, fontsize=10)
    right.set(title="test error (%)", ylim=(0, 92), xlim=(-0.5, 4.5), xlabel="initial gain")
    right.set_xticks([0, 1, 3, 4], ["0.1", "1", "0.1", "1"])
    return fig
