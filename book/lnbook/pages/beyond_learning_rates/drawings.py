"""The page's pictures: angles in equilibrium, and task after task."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

INK = plots.INK
TEAL, RED, OLIVE = (plots.OTHERS[name] for name in ("teal", "red", "olive"))
MARKS = "os^"
Curve = Float[np.ndarray, " points"]


def turns(
    panels: Mapping[str, tuple[Curve, Float[np.ndarray, "points layers"]]], ends: tuple[float, float]
) -> Figure:
    """Measured angle of each layer, a mark each, against sqrt(2 rate decay); the line is equality."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.4), sharey=True)
    for ax, (title, (predicted, found)) in zip(axes, panels.items(), strict=True):
        ax.loglog(ends, ends, color=INK, lw=1)
        for k, (mark, color) in enumerate(zip(MARKS, (TEAL, RED, OLIVE), strict=True)):
            ax.loglog(
                predicted, found[:, k], mark, color=color, ms=6, mfc="none", mew=1.4, label=f"layer {k + 1}"
            )
        ax.set(title=title, xlabel="predicted")
        on.plain(ax.xaxis, ax.yaxis)
    axes[0].set_ylabel("measured")
    axes[0].legend(loc="lower right")
    return fig


def tasks(losses: Mapping[str, Float[np.ndarray, "seeds tasks"]], lengths: Mapping[str, Curve]) -> Figure:
    """Left, loss after each task's updates, every seed and geometric mean; right, length of the weights."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.4))
    for (name, runs), color, line in zip(losses.items(), (TEAL, RED), ("-", "--"), strict=True):
        task = np.arange(1, runs.shape[1] + 1)
        left.semilogy(task, runs.T, color=color, lw=0.5, alpha=0.4)
        left.semilogy(task, np.exp(np.log(runs).mean(0)), color=color, ls=line, lw=2.2, label=name)
        right.plot(task, lengths[name], color=color, ls=line)
    left.set(xlabel="task", title="loss after its updates")
    right.set(xlabel="task", title="length of the weights", ylim=(0, None))
    on.plain(left.yaxis)
    left.legend(loc="upper left")
    return fig
