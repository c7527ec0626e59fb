"""The picture of the errata: every entry on one axis by the size of its effect."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

# Kinds, told apart by color and by shape, each with its last entry.
KINDS = (
    ("slips of the pen", 6, plots.INK, "o"),
    ("conditions left unsaid", 13, plots.OTHERS["teal"], "s"),
    ("wrong formulas", 17, plots.OTHERS["red"], "D"),
    ("sentences tested by a measurement", 20, plots.OTHERS["olive"], "^"),
)
LOW, HIGH = 0.05, 4.0


def sizes(entries: Mapping[str, float]) -> Figure:
    """Relative errors of what is printed, a row per entry, in two columns; a name begins with its number."""
    fig, halves = plots.subplots(1, 2, figsize=(7.2, 3.6), sharex=True)
    half = -(-len(entries) // 2)
    for place, (name, size) in enumerate(entries.items()):
        kind, _, color, marker = next(k for k in KINDS if int(name[1:3]) <= k[1])
        ax, row = halves[place // half], place % half
        end = size if math.isfinite(size) else HIGH
        ax.hlines(row, LOW, end, color=color, lw=1.4)
        ax.plot(end, row, marker, color=color, ms=6, clip_on=False, label=kind)
        if not math.isfinite(size):
            ax.annotate("NaN", (HIGH, row), (-8, 3), textcoords="offset points", ha="right")
    for ax, some in zip(halves, np.split(list(entries), [half]), strict=True):
        ax.set_xscale("log")
        ax.set(xlim=(LOW, 1.2 * HIGH), ylim=(half - 0.4, -0.6), xlabel="relative error as printed")
        on.exactly(ax.xaxis, [0.1, 0.5, 2], ["10 %", "50 %", "200 %"])
        ax.set_yticks(range(len(some)), some, fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=False, axis="y")
    on.legend(fig)
    return fig
