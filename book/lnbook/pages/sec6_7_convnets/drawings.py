"""Section 6.7's pictures: what sets the norms apart."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from lnbook.curves import Mean
from lnbook.figures import plots
from lnbook.shared import learning_curves

LABELS = learning_curves.LABELS | {
    "position": "layer norm, each position",
    "group": "group norm",
    "instance": "instance norm",
}
COLORS = plots.COLORS | {
    "position": plots.COLORS["layer"],
    "group": plots.OTHERS["olive"],
    "instance": plots.OTHERS["magenta"],
}


def dots(panels: Mapping[str, Mapping[str, Mean]], xlabel: str) -> Figure:
    """One panel per measure, one line per method: mean and 95 % interval over seeds, and a line at 0."""
    names = list(next(iter(panels.values())))
    size = (5.9, 0.45 * len(names) + 1.2)
    fig, axes = plots.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    for ax, (title, means) in zip(axes[0], panels.items(), strict=True):
        ax.axvline(0, color=plots.INK, linewidth=0.8)
        for k, (name, (value, low, high, _)) in enumerate(means.items()):
            error = None if low is None or high is None else [[value - low], [high - value]]
            ax.errorbar(value, k, xerr=error, color=COLORS.get(name, plots.INK), marker="o", ms=6, capsize=3)
        ax.set(title=title, xlabel=xlabel, ylim=(len(names) - 0.5, -0.5))
    axes[0, 0].set_yticks(range(len(names)), [LABELS.get(name, name) for name in names])
    return fig
