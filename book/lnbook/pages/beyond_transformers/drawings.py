"""The Transformer chapter's pictures: where the norm stands, and learning curves."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.shared.characters import Job
from lnbook.training import Row

INK, LAYER = plots.INK, plots.COLORS["layer"]
# Panels and lines of the learning curves. All but the first are at their best of the learning rates 0.0003,
# 0.001, 0.003 and 0.01, by the mean bits of seeds 100 to 102.
JOBS: dict[str, dict[str, Job]] = {
    "norm after": {
        "no warm-up": ("post", "layer", False, 1.0),
        "warm-up": ("post", "layer", True, 1.0),
        "no warm-up, a third of the rate": ("post", "layer", False, 1 / 3),
    },
    "norm before": {
        "no warm-up": ("pre", "layer", False, 1.0),
        "RMS norm, no warm-up": ("pre", "rms", False, 1.0),
    },
}


def placements() -> Figure:
    """Three blocks from the stream at the bottom to the stream at the top, the norm as a filled box."""
    fig, axes = plots.subplots(1, 3, figsize=(7.2, 3.9))
    inner = {
        "inside (2016)": ("$W_1$", "LN", "$f$", "$W_2$", "+"),
        "after (2017)": ("$W_1$", "$f$", "$W_2$", "+", "LN"),
        "before": ("LN", "$W_1$", "$f$", "$W_2$", "+"),
    }
    for ax, (name, boxes) in zip(axes, inner.items(), strict=True):
        ax.set(xlim=(-1, 1), ylim=(-0.2, 6.6), title=name)
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


def _box(style: str, face: str, edge: str) -> dict[str, str]:
    return {"boxstyle": f"{style},pad=0.35", "facecolor": face, "edgecolor": edge}
