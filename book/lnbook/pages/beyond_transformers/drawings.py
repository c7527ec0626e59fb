"""The Transformer chapter's pictures: where the norm stands, gradients by depth, learning curves."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.intervals import interval
from lnbook.pages.beyond_transformers.placements import JOBS, Readers, Stacks
from lnbook.shared.characters import Job
from lnbook.training import Row

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
    """The means at both ends of each line, in words."""
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


def gradients(found: Stacks, read: Readers) -> Figure:
    """Of the last block against depth (above) and of all blocks (below), of stacks and of Transformers.

    Lines are the limits of stacks, and join the means of Transformers.
    """
    fig, ((last, last_read), (every, every_read)) = plots.subplots(2, 2, figsize=(7.2, 6.4))
    limits = found.limits()
    for name, values in found.last.items():
        _marks(last, found.depths[: values.shape[1]], values, name, limits["last"][name])
    for name, values in found.blocks.items():
        _marks(every, range(1, 1 + found.block_depth), values, name, limits["blocks"][name])
    for name, values in read.last.items():
        _marks(last_read, read.depths, values, name, values.mean(0).tolist())
    for name, values in read.blocks.items():
        _marks(every_read, range(1, 1 + read.block_depth), values, name, values.mean(0).tolist())
    for ax, depths in ((last, found.depths), (last_read, read.depths)):
        ax.set(xscale="log", xlabel="depth $L$ (blocks)")
        on.exactly(ax.xaxis, depths)
    for ax, L in ((every, found.block_depth), (every_read, read.block_depth)):
        ax.set(xlabel="block $l$, the last at the right", xticks=(1, L // 2, L))
    near = (0.3, 0.6, 1)
    for ax, ticks in ((last, (1, 4, 16)), (every, (1, 2, 3)), (last_read, near), (every_read, near)):
        ax.set_yscale("log")
        on.exactly(ax.yaxis, ticks)
    last.set(title="stack without attention", ylabel="gradient of the last block")
    last_read.set(title="Transformer")
    every.set_ylabel("gradient of each block")
    handles, names = last.get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncols=4)
    return fig


def curves(trained: Mapping[Job, Sequence[Sequence[Row]]], yardsticks: Mapping[str, float]) -> Figure:
    """Bits per character against updates, one panel per placement, one line per run; yardsticks."""
    fig, axes = plots.subplots(1, len(JOBS), figsize=(7.2, 3.8), sharey=True)
    looks = {
        "no warm-up": (LAYER, "--", "s"),
        "warm-up": (LAYER, "-", "o"),
        "no warm-up, a third of the rate": (plots.OTHERS["teal"], "-.", "v"),
        "RMS norm, no warm-up": (plots.COLORS["rms"], plots.LINES["rms"], "^"),
    }
    for ax, (title, jobs) in zip(axes, JOBS.items(), strict=True):
        for name, job in jobs.items():
            color, line, marker = looks[name]
            updates = [row["update"] for row in trained[job][0]][1:]
            for run in trained[job]:
                bits = [row["bits"] for row in run[1:]]
                ax.plot(updates, bits, color=color, ls=line, marker=marker, ms=4, label=name)
        for name, y in yardsticks.items():
            ax.axhline(y, color=INK, lw=0.8)
            ax.text(updates[-1], y - 0.02, name, ha="right", va="top", fontsize=9)
        ax.set(title=title, xlabel="updates", xticks=updates)
    named = {line.get_label(): line for ax in axes for line in ax.get_legend_handles_labels()[0]}
    fig.legend(named.values(), named.keys(), loc="outside upper center", ncols=2)
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
