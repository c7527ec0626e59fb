"""The pictures of distributed training: what a cut goes through, and what parting does."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, NONE, LAYER, BATCH = plots.INK, plots.COLORS["none"], plots.COLORS["layer"], plots.COLORS["batch"]
SIDE = 6  # cases and units of the schematic batch


def cuts() -> Figure:
    """One batch as a table of cases by units, cut between two processes both ways; one set of each norm."""
    fig, axes = plots.subplots(1, 2, figsize=(5.8, 3.2))
    for ax, part in zip(axes, ("cases", "units"), strict=True):
        by_case = part == "cases"
        for case in range(SIDE):
            for unit in range(SIDE):
                shade = 0.4 if (case if by_case else unit) >= SIDE // 2 else 0.15
                ax.add_patch(Rectangle((unit, case), 0.86, 0.86, color=NONE, alpha=shade, lw=0))
        cut, ends = SIDE / 2 - 0.07, (-0.35 if by_case else -0.05, SIDE + 0.2)
        ax.plot(*(ends, (cut, cut)) if by_case else ((cut, cut), ends), color=INK, lw=1.6, ls=(0, (4, 3)))
        _frame(ax, (1, 0), (0.86, SIDE - 0.14), BATCH)
        _frame(ax, (0, 4), (SIDE - 0.14, 0.86), LAYER)
        ax.text(1.43, -0.2, "batch norm", color=BATCH, ha="center", weight="bold")
        ax.text(SIDE + 0.05, 4.43, "layer\nnorm", color=LAYER, va="center", weight="bold")
        crossing, color = ((1.43, cut), BATCH) if by_case else ((cut, 4.43), LAYER)
        ax.plot(*crossing, "o", color=color, ms=11, zorder=4)
        ax.annotate(
            "message",
            crossing,
            (9, 5 if by_case else 17),
            textcoords="offset points",
            color=color,
            weight="bold",
        )
        for k, place in enumerate((SIDE / 4, 3 * SIDE / 4)):
            x, y = (-0.5, place) if by_case else (place, SIDE + 0.6)
            ax.text(x, y, f"process {k}", rotation=90 if by_case else 0, ha="center", va="center")
        ax.text(SIDE / 2, -1.2, f"{part} parted", ha="center")
        ax.set(xlim=(-1, SIDE + 1.3), ylim=(SIDE + 1, -1.7))
        ax.set_aspect("equal")
        ax.axis("off")
    return fig


def _frame(ax: Axes, corner: tuple[float, float], size: tuple[float, float], color: str) -> None:
    (x, y), (width, height) = corner, size
    ax.add_patch(
        Rectangle((x - 0.05, y - 0.05), width + 0.1, height + 0.1, fill=False, ec=color, lw=2.6, zorder=3)
    )


def parted(sizes: Sequence[int], angles: Mapping[str, Float[np.ndarray, "sizes draws"]]) -> Figure:
    """Degrees between the updates of a whole batch and a parted one, or other cases."""
    fig, ax = plots.subplots(figsize=(5.8, 3.3))
    looks = {"batch": (BATCH, "--", "o"), "other cases": (NONE, ":", ""), "layer": (LAYER, "-", "s")}
    for name, values in angles.items():
        color, line, mark = looks[name]
        if mark:
            ax.plot(sizes, values, mark, color=color, ms=3, alpha=0.3, mew=0)
        label = name if name == "other cases" else f"{name} norm, parted"
        ax.plot(sizes, np.median(values, 1), color=color, ls=line, marker=mark or None, ms=5, label=label)
    ax.set_xscale("log", base=2)
    on.exactly(ax.xaxis, sizes)
    ax.set(xlabel="cases in a process", ylabel="angle between updates", ylim=(-4, 100))
    ax.set_yticks(range(0, 91, 30))
    ax.yaxis.set_major_formatter("{x:.0f}°")
    ax.legend()
    return fig
