"""The Transformer chapter's pictures: where the norm stands, learning curves, and two quantities by depth."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.shared.characters import Job
from lnbook.training import Row

INK, LAYER, TEAL = plots.INK, plots.COLORS["layer"], plots.OTHERS["teal"]
# Panels and lines of the learning curves. All but the first are at their best of the learning rates 0.0003,
# 0.001, 0.003 and 0.01, by the mean bits of seeds 100 to 102.
JOBS: dict[str, dict[str, Job]] = {
    "norm after": {
        "no warm-up": ("post", "layer", False, 1.0),
        "warm-up": ("post", "layer", True, 1.0),
        "no warm-up, a third of the rate": ("post", "layer", False, 1 / 3),
    },
    "norm before": {"no warm-up": ("pre", "layer", False, 1.0)},
}
# A quantity's lines: what is measured (a row a seed, a column a depth), and what is derived.
Lines = Mapping[str, tuple[Float[np.ndarray, "seeds depths"], Sequence[float]]]


def placements() -> Figure:
    """Five blocks from the stream at the bottom to the stream at the top, the norm as a filled box."""
    fig, axes = plots.subplots(1, 5, figsize=(7.2, 3.4))
    inner = {
        "inside\n$x+W_2f(\\mathrm{LN}(W_1x))$": ("$W_1$", "LN", "$f$", "$W_2$", "+"),
        "after\n$\\mathrm{LN}(x+F(x))$": ("$W_1$", "$f$", "$W_2$", "+", "LN"),
        "before\n$x+F(\\mathrm{LN}(x))$": ("LN", "$W_1$", "$f$", "$W_2$", "+"),
        "both sides\n$x+\\mathrm{LN}(F(\\mathrm{LN}(x)))$": ("LN", "$W_1$", "$f$", "$W_2$", "LN", "+"),
        "on the output\n$x+\\mathrm{LN}(F(x))$": ("$W_1$", "$f$", "$W_2$", "LN", "+"),
    }
    for ax, (name, boxes) in zip(axes, inner.items(), strict=True):
        ax.set(xlim=(-0.7, 1), ylim=(-0.3, 7.4))
        ax.set_title(name, fontsize=10)
        ax.axis("off")
        plus = boxes.index("+")
        for k, text in enumerate(boxes):
            box = {"boxstyle": f"{'circle' if text == '+' else 'round'},pad=0.35", "ec": INK}
            box["fc"], ink = (LAYER, "white") if text == "LN" else ("none", INK)
            ax.text(0, 1 + k, text, ha="center", va="center", fontsize=9, color=ink, bbox=box)
        for k in range(-1, len(boxes)):
            ax.annotate("", (0, k + 1.7), (0, k + 1.3), arrowprops={"arrowstyle": "->", "color": INK})
        ax.plot([0, 0.75, 0.75, 0.2], [0.32, 0.32, 1 + plus, 1 + plus], color=INK, lw=2.4)
        ax.text(0, 0.02, "$x$", ha="center", va="center")
    return fig


def curves(trained: Mapping[Job, Sequence[Sequence[Row]]], yardsticks: Mapping[str, float]) -> Figure:
    """Bits per character against updates, one panel per placement, one line per run; yardsticks."""
    fig, axes = plots.subplots(1, len(JOBS), figsize=(7.2, 3.8), sharey=True)
    looks = {
        "no warm-up": (LAYER, "--", "s"),
        "warm-up": (LAYER, "-", "o"),
        "no warm-up, a third of the rate": (TEAL, "-.", "v"),
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
            if ax is axes[-1]:  # the other panel has curves there
                ax.text(updates[-1], y - 0.02, name, ha="right", va="top", fontsize=9)
        ax.set(title=title, xlabel="updates", xticks=updates)
    on.legend(fig)
    axes[0].set_ylabel("bits a character (test)")
    axes[0].set_ylim(bottom=min(yardsticks.values()) - 0.12)
    return fig


def by_depth(panels: Mapping[str, tuple[Sequence[int], Lines]]) -> Figure:
    """A panel a quantity, on logarithmic axes: marks are networks, lines what is derived."""
    looks = {
        "norm before": (LAYER, "-", "o"),
        "scaled": (TEAL, "-.", "^"),
        "norm after": (LAYER, "--", "s"),
        "DeepNorm": (plots.OTHERS["magenta"], "-", "D"),
    }
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.4))
    for ax, (quantity, (depths, lines)) in zip(axes, panels.items(), strict=True):
        for name, (found, derived) in lines.items():
            color, line, mark = looks[name]
            ax.plot(depths, derived, color=color, ls=line, lw=1.2)
            on.runs(ax, depths, found, mark, name, color=color)
        ax.set(xscale="log", yscale="log", xlabel="depth (blocks)", title=quantity)
        on.exactly(ax.xaxis, depths)
    on.legend(fig)
    return fig
