"""The Transformer chapter's picture: learning curves."""

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
