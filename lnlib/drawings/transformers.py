"""The Transformer chapter's pictures: where the norm stands, gradients by depth, learning curves."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lnlib import plots

__all__ = ["curves", "in_text", "placements", "rows", "stacks"]

INK, LAYER = plots.INK, plots.COLORS["layer"]
NAMES = {"post": "after (2017)", "pre": "before", "summed": "inside (2016)", "none": "no norm"}
LOOKS = {
    "post": (LAYER, "--", "s"),
    "pre": (LAYER, "-", "o"),
    "summed": (plots.COLORS["weight"], "-.", "^"),
    "none": (plots.COLORS["none"], ":", "v"),
}
Interval = tuple[float, float, float]


def rows(
    panels: Mapping[str, Mapping[str, Sequence[Interval]]], places: Mapping[str, Sequence[int]]
) -> list[dict[str, object]]:
    """What is drawn, as rows: panel, name, place on the axis, mean and interval."""
    return [
        {"panel": panel, "name": name, "place": place, "mean": mean, "low": low, "high": high}
        for panel, lines in panels.items()
        for name, values in lines.items()
        for place, (mean, low, high) in zip(places[panel], values, strict=False)
    ]


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
        ax.plot([0, 0.8, 0.8, 0.28], [0.32, 0.32, 1 + plus, 1 + plus], color=INK, lw=2.4)
        ax.text(0, 0.02, "$x$", ha="center", va="center")
        ax.text(0, 6.45, "$x$ of the next block", ha="center", va="top", fontsize=9)
    return fig


def stacks(
    depths: Sequence[int],
    last: Mapping[str, Sequence[Interval]],
    limits: Mapping[str, Sequence[float]],
    blocks: Mapping[str, Sequence[Interval]],
    block_limits: Mapping[str, Sequence[float]],
) -> Figure:
    """Gradients of the last block against depth, and of all blocks of one network; lines are the limits."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.6), sharey=True)
    for name, values in last.items():
        places = depths[: len(values)]
        _marks(left, places, values, name)
        left.plot(places, limits[name], color=LOOKS[name][0], ls=LOOKS[name][1], lw=1.2)
    left.set(xscale="log", yscale="log", xlabel="depth $L$ (blocks)", title="last block")
    left.set_ylabel("norm of the gradient")
    left.set_xticks(depths, list(map(str, depths)))
    left.xaxis.set_minor_locator(NullLocator())
    for name, values in blocks.items():
        places = range(1, 1 + len(values))
        _marks(right, places, values, name)
        right.plot(places, block_limits[name], color=LOOKS[name][0], ls=LOOKS[name][1], lw=1.2)
    right.set(xlabel="block $l$, the last at the right", title="every block of one network")
    handles, names = left.get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncols=4)
    return fig


def in_text(
    depths: Sequence[int],
    gradients: Mapping[str, Sequence[Interval]],
    moved_depths: Sequence[int],
    moved: Mapping[str, Sequence[Interval]],
    limits: Mapping[str, Sequence[float]],
) -> Figure:
    """Last blocks of Transformers that read; and how far a random step moves the output of a stack."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.5))
    for name, values in gradients.items():
        _marks(left, depths, values, name)
        left.plot(depths, [v[0] for v in values], color=LOOKS[name][0], ls=LOOKS[name][1], lw=1.2)
    left.set(yscale="log", title="gradient, Transformer", ylabel="norm, last block")
    for name, values in moved.items():
        _marks(right, moved_depths, values, name)
        right.plot(moved_depths, limits[name], color=LOOKS[name][0], ls=LOOKS[name][1], lw=1.2)
    right.set(title="effect of a random step, stack", ylabel="relative change of $y$ / step")
    for ax, places in ((left, depths), (right, moved_depths)):
        ax.set(xscale="log", xlabel="depth $L$ (blocks)")
        ax.set_xticks(places, list(map(str, places)))
        ax.xaxis.set_minor_locator(NullLocator())
    left.set_yticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
    left.yaxis.set_minor_locator(NullLocator())
    left.legend(loc="lower left")
    return fig


def curves(
    updates: Sequence[int],
    panels: Mapping[str, Mapping[str, Float[np.ndarray, "times 3"]]],
    yardsticks: Mapping[str, float],
) -> Figure:
    """Bits a character against updates, a panel a placement; mean, low and high over seeds; yardsticks."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.8), sharey=True)
    looks = {
        "no warm-up": (LAYER, "--", "s"),
        "warm-up": (LAYER, "-", "o"),
        "RMS norm, no warm-up": (plots.COLORS["rms"], plots.LINES["rms"], "^"),
    }
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, values in lines.items():
            color, line, marker = looks[name]
            mean, low, high = values.T
            ax.fill_between(updates, low, high, color=color, alpha=0.18, lw=0)
            ax.plot(updates, mean, color=color, ls=line, marker=marker, ms=4, label=name)
        for name, y in yardsticks.items():
            ax.axhline(y, color=INK, lw=0.8)
            ax.text(updates[-1], y + 0.02, name, ha="right", va="bottom", fontsize=9)
        ax.set(title=title, xlabel="updates", xticks=updates)
        ax.legend(loc="upper right", fontsize=9, bbox_to_anchor=(1.0, 1.0))
    axes[0].set_ylabel("bits a character (test)")
    return fig


def _box(style: str, face: str, edge: str) -> dict[str, str]:
    return {"boxstyle": f"{style},pad=0.35", "facecolor": face, "edgecolor": edge}


def _marks(ax: Axes, x: Sequence[float], values: Sequence[Interval], name: str) -> None:
    mean, low, high = np.array(values).T
    color, _, marker = LOOKS[name]
    bars = (mean - low, high - mean)
    ax.errorbar(x, mean, bars, fmt=marker, color=color, ms=4, capsize=2, lw=1.2, label=NAMES[name])
