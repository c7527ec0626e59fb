"""The Transformer chapter's pictures: where the norm stands, gradients by depth, learning curves."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lnbook.figures import plots
from lnbook.ledger.intervals import interval
from lnbook.pages.beyond_transformers.placements import JOBS, Stacks
from lnbook.training import Row

__all__ = ["curves", "in_text", "placements", "rows", "said", "stacks"]

INK, LAYER = plots.INK, plots.COLORS["layer"]
NAMES = {"post": "after (2017)", "pre": "before", "summed": "inside (2016)", "none": "no norm"}
LOOKS = {
    "post": (LAYER, "--", "s"),
    "pre": (LAYER, "-", "o"),
    "summed": (plots.OTHERS["teal"], "-.", "^"),
    "none": (plots.COLORS["none"], ":", "v"),
}
Runs = Float[np.ndarray, "_ _"]  # one row per seed, one column per place on the axis


def rows(**panels: Mapping[str, Runs]) -> list[dict[str, object]]:
    """What is drawn, as rows: panel, name, the number of the place on the axis, mean and 95 % interval."""
    return [
        {"panel": panel, "name": name, "place": k, "mean": mean, "low": low, "high": high}
        for panel, lines in panels.items()
        for name, values in lines.items()
        for k, (mean, low, high) in enumerate(_intervals(values).T)
    ]


def said(lines: Mapping[str, Runs]) -> str:
    """The means at both ends of each line, in words.

    >>> said({"pre": np.array([[3.0, 9.0, 1.0]])})
    'before from 3.00 to 1.00'
    """
    ends = {name: values.mean(0)[[0, -1]] for name, values in lines.items()}
    return "; ".join(f"{NAMES.get(name, name)} from {a:.2f} to {b:.2f}" for name, (a, b) in ends.items())


def placements() -> Figure:
    """Three blocks from the stream at the bottom to the stream at the top, the norm as a filled box."""
    fig, axes = plots.subplots(1, 3, figsize=(7.2, 3.9))
    inner = {
        "summed": ("$W_1$", "LN", "$f$", "$W_2$", "+"),
        "post": ("$W_1$", "$f$", "$W_2$", "+", "LN"),
        "pre": ("LN", "$W_1$", "$f$", "$W_2$", "+"),
    }
    for ax, (name, boxes) in zip(axes, inner.items(), strict=True):
        ax.set(xlim=(-1, 1), ylim=(-0.2, 6.6), title=NAMES[name])
        ax.axis("off")
        plus = boxes.index("+")
        for k, text in enumerate(boxes):
            y = 1 + k
            if text == "+":
                ax.text(0, y, "+", ha="center", va="center", fontsize=13, bbox=_box("circle", "none", INK))
                continue
            color = LAYER if text == "LN" else "none"
            ink = "white" if text == "LN" else INK
            ax.text(0, y, text, ha="center", va="center", color=ink, bbox=_box("round", color, INK))
        for k in range(-1, len(boxes)):
            ax.annotate("", (0, k + 1.68), (0, k + 1.32), arrowprops={"arrowstyle": "->", "color": INK})
        ax.plot([0, 0.8, 0.8, 0.15], [0.32, 0.32, 1 + plus, 1 + plus], color=INK, lw=2.4)
        ax.text(0, 0.02, "$x$", ha="center", va="center")
        ax.text(0, 6.45, "$x$ of the next block", ha="center", va="top", fontsize=9)
    return fig


def stacks(found: Stacks) -> Figure:
    """Gradients of the last block against depth, and of all blocks of one network; lines are the limits."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.6), sharey=True)
    limits = found.limits()
    for name, values in found.last.items():
        _marks(left, found.depths[: values.shape[1]], values, name, limits["last"][name])
    left.set(xscale="log", yscale="log", xlabel="depth $L$ (blocks)", title="last block")
    left.set_ylabel("norm of the gradient")
    left.set_xticks(found.depths, list(map(str, found.depths)))
    left.xaxis.set_minor_locator(NullLocator())
    for name, values in found.blocks.items():
        _marks(right, range(1, 1 + found.block_depth), values, name, limits["blocks"][name])
    right.set(xlabel="block $l$, the last at the right", title="every block of one network")
    handles, names = left.get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncols=4)
    return fig


def in_text(depths: Sequence[int], gradients: Mapping[str, Runs], found: Stacks) -> Figure:
    """Last blocks of Transformers that read; and how far a random step moves the output of a stack."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.5))
    for name, values in gradients.items():
        _marks(left, depths, values, name, values.mean(0).tolist())
    left.set(yscale="log", title="gradient, Transformer", ylabel="norm, last block")
    for name, values in found.moved.items():
        _marks(right, found.depths, values, name, found.limits()["moved"][name])
    right.set(title="effect of a random step, stack", ylabel="relative change of $y$ / step")
    for ax, places in ((left, depths), (right, found.depths)):
        ax.set(xscale="log", xlabel="depth $L$ (blocks)")
        ax.set_xticks(places, list(map(str, places)))
        ax.xaxis.set_minor_locator(NullLocator())
    left.set_yticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
    left.yaxis.set_minor_locator(NullLocator())
    left.legend(loc="lower left")
    return fig


def curves(
    trained: Mapping[tuple[str, str, bool], Sequence[Sequence[Row]]], yardsticks: Mapping[str, float]
) -> Figure:
    """Bits per character against updates, one panel per placement; means and intervals; yardsticks."""
    fig, axes = plots.subplots(1, len(JOBS), figsize=(7.2, 3.8), sharey=True)
    looks = {
        "no warm-up": (LAYER, "--", "s"),
        "warm-up": (LAYER, "-", "o"),
        "RMS norm, no warm-up": (plots.COLORS["rms"], plots.LINES["rms"], "^"),
    }
    for ax, (title, jobs) in zip(axes, JOBS.items(), strict=True):
        for name, job in jobs.items():
            color, line, marker = looks[name]
            updates = [row["update"] for row in trained[job][0]][1:]
            mean, low, high = _intervals(np.array([[r["bits"] for r in run[1:]] for run in trained[job]]))
            ax.fill_between(updates, low, high, color=color, alpha=0.18, lw=0)
            ax.plot(updates, mean, color=color, ls=line, marker=marker, ms=4, label=name)
        for name, y in yardsticks.items():
            ax.axhline(y, color=INK, lw=0.8)
            ax.text(updates[-1], y - 0.02, name, ha="right", va="top", fontsize=9)
        ax.set(title=title, xlabel="updates", xticks=updates)
        ax.legend(loc="upper right", fontsize=9)
    axes[0].set_ylabel("bits a character (test)")
    axes[0].set_ylim(bottom=min(yardsticks.values()) - 0.12)
    return fig


def _intervals(values: Runs) -> Float[np.ndarray, "3 places"]:
    """Mean, low and high of each column."""
    return np.array([interval(column) for column in values.T]).T


def _box(style: str, face: str, edge: str) -> dict[str, str]:
    return {"boxstyle": f"{style},pad=0.35", "facecolor": face, "edgecolor": edge}


def _marks(ax: Axes, x: Sequence[int], values: Runs, name: str, line: Sequence[float]) -> None:
    """Means with intervals, over a line."""
    mean, low, high = _intervals(values)
    color, style, marker = LOOKS[name]
    ax.plot(x, line, color=color, ls=style, lw=1.2)
    bars, hollow = (mean - low, high - mean), name == "summed"  # it lies on "pre"
    drawn = ax.errorbar(x, mean, bars, fmt=marker, color=color, ms=4, capsize=2, lw=1.2, label=NAMES[name])
    drawn.lines[0].set(markersize=9 if hollow else 4, markerfacecolor="none" if hollow else color)
