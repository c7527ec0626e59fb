"""The page's pictures: what is recorded for each explanation, and shift beside loss."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.verdicts import Measurement
from lnbook.shared.shift import Group

EXPLANATIONS = {  # by what each compares: rules, and what the picture calls them
    "loss, without\nover with": {
        "cs-total": "2 layers",
        "cs-total-deep": "8 layers",
        "cs-total-small": "8 layers, weights halved",
        "cs-total-descent": "3 layers, plain descent",
    },
    "shift, without\nover with": {
        "cs-shift": "3 layers, per update",
        "cs-shift-equal": "3 layers, to equal losses",
    },
    "reach, with\nover without": {"cs-reach": "2 layers", "cs-reach-deep": "8 layers"},
    "loss, statistics\ndetached or not": {
        "cs-detached-hurts": "2 layers",
        "cs-detached-hurts-deep": "8 layers",
    },
}
METHODS = {  # of `shift_and_loss`: color, line, width
    "plain": (plots.COLORS["none"], ":", 2),
    "batch norm": (plots.COLORS["batch"], "--", 1.8),
    "with noise": (plots.INK, "-", 1),
    "with drift": (plots.OTHERS["red"], "-.", 1.4),
}


def explanations(found: Mapping[str, Measurement]) -> Figure:
    """Ratios with 95 % intervals on a logarithmic axis, a group for each explanation; 1 is no effect."""
    fig, ax = plots.subplots(figsize=(7.2, 3.5))
    ax.axvline(1, color=plots.INK, lw=0.8)
    names: list[str] = []
    for title, group in EXPLANATIONS.items():
        places = np.arange(len(names), len(names) + len(group))
        mean, low, high = np.array([(found[id].value, found[id].low, found[id].high) for id in group]).T
        look = {"ms": 5, "capsize": 3, "lw": 1.4, "color": plots.COLORS["layer"]}
        ax.errorbar(mean, places, xerr=(mean - low, high - mean), fmt="o", **look)
        ax.text(2.4, places.mean(), title, va="center")
        ax.axhline(places[-1] + 0.5, color=plots.GRID, lw=0.8)
        names += group.values()
    ax.set(xscale="log", xlim=(0.75, 2.3), ylim=(len(names) - 0.5, -0.5), xlabel="ratio (1: no effect)")
    ax.set_yticks(range(len(names)), names)
    on.exactly(ax.xaxis, (0.8, 1, 1.25, 1.5, 2))
    return fig


def shift_and_loss(groups: Mapping[str, Group]) -> Figure:
    """What one unit receives in one run, and the losses: plain, and batch norm with and without additions."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3))
    for name, group in groups.items():
        color, line, width = METHODS[name]
        update = np.arange(1, len(group.curve) + 1)
        left.plot(update, group.runs[0].mean[:, 0], color=color, ls=line, lw=width)
        right.semilogy(update, group.curve, color=color, ls=line, lw=width, label=name)
    left.set(xlabel="update", title="mean of what one unit receives", xlim=(0, 60))
    right.set(xlabel="update", title="training loss")
    on.plain(right.yaxis)
    right.legend()
    return fig
