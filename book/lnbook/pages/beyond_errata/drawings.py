"""The picture of the errata: every entry on one axis by the size of its effect."""

import math
from collections.abc import Mapping

from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

# Kinds are told apart by color and by shape.
MARKS = (
    (plots.INK, "o"),
    (plots.OTHERS["teal"], "s"),
    (plots.OTHERS["red"], "D"),
    (plots.OTHERS["olive"], "^"),
)
LOW, HIGH = 0.05, 4.0


def sizes(kinds: Mapping[str, Mapping[str, float]]) -> Figure:
    """Relative errors of the print, one row per entry, first entry on top; kinds in the order of `MARKS`."""
    fig, ax = plots.subplots(figsize=(6.4, 7.2))
    names: list[str] = []
    for (kind, entries), (color, marker) in zip(kinds.items(), MARKS, strict=True):
        rows = range(len(names), len(names) + len(entries))
        ends = [size if math.isfinite(size) else HIGH for size in entries.values()]
        ax.hlines(rows, LOW, ends, color=color, lw=1.4)
        ax.plot(ends, rows, marker, color=color, ms=7, clip_on=False, label=kind)
        for row, size in zip(rows, entries.values(), strict=True):
            if not math.isfinite(size):
                ax.annotate("NaN", (HIGH, row), (-8, 4), textcoords="offset points", ha="right")
        names += entries
    ax.set_xscale("log")
    ax.set(xlim=(LOW, HIGH), ylim=(len(names) - 0.4, -0.6), xlabel="relative error of the print")
    on.exactly(ax.xaxis, [0.1, 0.2, 0.5, 1, 2], ["10 %", "20 %", "50 %", "100 %", "200 %"])
    ax.set_yticks(range(len(names)), names, ha="left")
    ax.tick_params(axis="y", length=0, pad=162)
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False, axis="y")
    fig.legend(loc="outside upper center", ncols=2)
    return fig
