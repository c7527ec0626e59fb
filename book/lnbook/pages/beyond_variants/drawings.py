"""The variants' pictures: who computes the same, what a cell remembers, what blanks do, and what it costs."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.intervals import interval
from lnbook.pages.beyond_variants.measure import Memory

INK, NONE, LAYER, BATCH = plots.INK, plots.COLORS["none"], plots.COLORS["layer"], plots.COLORS["batch"]
LINES = ((LAYER, "-"), (LAYER, "--"), (LAYER, ":"), (BATCH, "-."), (NONE, ":"))

NAMES = {"paper": "separate", "draw": "cell only", "none": "no norm"}


def apart(matrix: Float[np.ndarray, "K K"], names: Sequence[str], groups: Sequence[Sequence[int]]) -> Figure:
    """Distances as an image, the networks sorted by group; a box around each group."""
    order = [k for group in groups for k in group]
    fig, ax = plots.subplots(figsize=(6.4, 5))
    image = ax.imshow(matrix[np.ix_(order, order)], vmin=0, vmax=1, cmap=plots.AMOUNT.reversed())
    first = 0
    for group in groups:
        n = len(group)
        ax.add_patch(Rectangle((first - 0.5, first - 0.5), n, n, fill=False, ec=BATCH, lw=2.2))
        first += n
    labels = [names[k] for k in order]
    ax.set_xticks(range(len(order)), labels, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(order)), labels)
    ax.grid(False)
    ax.tick_params(length=0)
    fig.colorbar(image, ax=ax, shrink=0.8, aspect=20, pad=0.03, label="distance of the outputs")
    return fig


def memories(raw: Memory, carried: Memory) -> Figure:
    """What is left of the first value, step by step; dots are measured, lines are theory."""
    fig, ax = plots.subplots(figsize=(7.2, 3.3))
    step = np.arange(1, len(raw.correlation) + 1)
    shown = np.unique(np.geomspace(1, len(step), 25).astype(int)) - 1
    for memory, theory, color, mark, line, label in (
        (raw, (1 + raw.added * step) ** -0.5, LAYER, "o", "-", "raw cell carried"),
        (carried, (1 + carried.added) ** (-step / 2), BATCH, "s", "--", "normalized cell carried"),
    ):
        ax.semilogx(step, theory, color=color, ls=line)
        ax.plot(step[shown], memory.correlation[shown], mark, color=color, ms=5)
        ax.plot([], [], mark + line, color=color, label=label)
    ax.set(xlabel="step", ylabel="left of the first value", ylim=(-0.1, 1.05))
    on.exactly(ax.xaxis, [1, 3, 10, 30, 100, 300])
    ax.legend(loc="lower left")
    return fig


def blanks(
    counts: Sequence[int], norms: Mapping[tuple[str, float], Sequence[float]], largest: float
) -> Figure:
    """Gradient norms against blank steps, by variant and epsilon, named at the end; the largest number."""
    fig, ax = plots.subplots(figsize=(7.2, 4.4))
    for ((variant, eps), values), (color, line) in zip(norms.items(), LINES, strict=False):
        name = NAMES[variant] + (f", $10^{{{np.log10(eps):.0f}}}$" if variant != "none" else "")
        ax.semilogy(counts, values, color=color, ls=line, marker="o", ms=4)
        on.name(ax, name, counts, values, (8, 0), va="center")
    ax.axhline(largest, color=INK, lw=1)
    ax.annotate("largest float32", (counts[0], largest), (0, 4), textcoords="offset points")
    ax.set(xlabel="blank steps at the start", ylabel="norm of the gradient")
    ax.set_xlim(counts[0] - 0.2, counts[-1] * 1.42)
    ax.set_xticks(counts)
    on.decades(ax.yaxis)
    return fig


def trained(panels: Mapping[str, Mapping[str, Sequence[float]]], lines: Mapping[str, float | None]) -> Figure:
    """For each panel, every run of each variant, with its mean and 95 % interval; a line to compare with."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.7))
    for ax, (title, runs) in zip(axes, panels.items(), strict=True):
        for place, values in enumerate(runs.values()):
            mean, low, high = interval(values)
            ax.plot(values, [place - 0.18] * len(values), "o", color=LAYER, ms=4, alpha=0.5, mew=0)
            ax.plot([max(low, 0), high], [place] * 2, color=LAYER, lw=2.4)
            ax.plot(mean, place, "D", color=LAYER, ms=6)
        if (line := lines.get(title)) is not None:
            ax.axvline(line, color=INK, lw=1, ls="--")
        ax.set_yticks(range(len(runs)), list(runs))
        ax.set(title=title, xlim=(0, None), ylim=(len(runs) - 0.5, -0.6))
        ax.tick_params(axis="y", length=0)
    return fig


def moves(errors: Float[np.ndarray, "R C"], rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Errors of weights trained in one variant (rows) and run in another (columns)."""
    fig, ax = plots.subplots(figsize=(7.2, 4))
    ax.imshow(errors, cmap=plots.AMOUNT, vmin=0, vmax=1.6 * errors.max(), aspect="auto")
    for (row, column), value in np.ndenumerate(errors):
        weight = "bold" if rows[row] == columns[column] else "normal"
        ax.text(column, row, f"{value:.0f}", color=INK, ha="center", va="center", weight=weight)
    ax.set_xticks(range(len(columns)), columns, rotation=35, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel="run as", ylabel="trained as")
    ax.grid(False)
    ax.tick_params(length=0)
    return fig
