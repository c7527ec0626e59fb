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
    """Relative errors of what is printed, a row per entry, in two columns; kinds in the order of `MARKS`."""
    fig, halves = plots.subplots(1, 2, figsize=(7.2, 3.6), sharex=True)
    half = -(-sum(map(len, kinds.values())) // 2)
    names: list[str] = []
    for (kind, entries), (color, marker) in zip(kinds.items(), MARKS, strict=True):
        for name, size in entries.items():
            ax, row = halves[len(names) // half], len(names) % half
            end = size if math.isfinite(size) else HIGH
            ax.hlines(row, LOW, end, color=color, lw=1.4)
            ax.plot(end, row, marker, color=color, ms=6, clip_on=False, label=kind)
            if not math.isfinite(size):
                ax.annotate("NaN", (HIGH, row), (-8, 3), textcoords="offset points", ha="right")
            names.append(name)
    for ax, some in zip(halves, (names[:half], names[half:]), strict=True):
        ax.set_xscale("log")
        ax.set(xlim=(LOW, 1.2 * HIGH), ylim=(half - 0.4, -0.6), xlabel="relative error as printed")
        on.exactly(ax.xaxis, [0.1, 0.5, 2], ["10 %", "50 %", "200 %"])
        ax.set_yticks(range(len(some)), some, fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=False, axis="y")
    shown = {
        label: mark for ax in halves for mark, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    fig.legend(shown.values(), shown, loc="outside upper center", ncols=2)
    return fig
