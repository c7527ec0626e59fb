"""What an update costs, as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.shared.steps.costs import NAMES

__all__ = ["bars"]

COLORS = {  # and hatches, for those who do not see the colors
    "recurrence": ("#5b6fb5", ""),
    "products": ("#3f9a94", "//"),
    "operations": ("#b98a2e", ""),
    "optimizer": ("#b0607f", ".."),
    "rest": ("#8a8d93", ""),
}


def bars(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Figure:
    """Milliseconds of an update, a bar a row of `lnbook.shared.steps.costs.step_costs`, stacked by part.

    Args:
        rows: their `ratio` stands behind each bar but the first.
        names: of the norms.
    """
    fig, ax = plots.subplots(figsize=(5.6, 1.7 + 0.45 * len(rows)))
    longest = max(row["ms"] for row in rows)
    for k, row in enumerate(rows):
        left = 0.0
        for part, (color, hatch) in COLORS.items():
            width = row["ms"] * row[part]
            label = NAMES[part].lower() if k == 0 else None
            ax.barh(
                k, width, 0.62, left, color=color, hatch=hatch, edgecolor="white", linewidth=0.4, label=label
            )
            left += width
        times = f"  {row['ms']:.3g}" if k == 0 else f"  {row['ms']:.3g}, times {row['ratio']:.2f}"
        ax.annotate(times, (left, k), va="center")
    ax.set_yticks(range(len(rows)), [names[row["norm"]] for row in rows])
    ax.set(xlabel="milliseconds an update", xlim=(0, 1.28 * longest), ylim=(len(rows) - 0.5, -0.5))
    ax.grid(axis="y", visible=False)
    fig.legend(loc="outside upper center", ncols=2)
    return fig
