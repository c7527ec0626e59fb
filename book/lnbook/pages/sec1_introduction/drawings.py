"""Section 1's pictures: one network at three batch sizes, and what splitting a batch does."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.shared.learning_curves import Curve, lines


def learning_curves(panels: Mapping[int, Mapping[str, Curve]]) -> Figure:
    """Test error in percent against updates, log scale: one panel per batch size, one band per method."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.2), sharey=True)
    for ax, (batch_size, curves) in zip(axes, panels.items(), strict=True):
        lines(ax, curves.items(), least=1e-9)
        ax.set(title=f"batch of {batch_size}", xlabel="updates", yscale="log", ylim=(2, 100))
        ax.set_yticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
        ax.minorticks_off()
    axes[0].set_ylabel("test error (%)")
    axes[0].legend(loc="upper right")
    return fig


def split(sizes: Sequence[int], angles: Mapping[str, Float[np.ndarray, "sizes draws"]]) -> Figure:
    """Degrees between the updates of a whole batch and a split one, or other cases."""
    fig, ax = plots.subplots(figsize=(5.8, 3.3))
    looks = {"batch": ("batch", "--o"), "other cases": ("none", ":"), "layer": ("layer", "-s")}
    for name, values in angles.items():
        norm, look = looks[name]
        if norm != "none":
            ax.plot(sizes, values, look[-1], color=plots.COLORS[norm], ms=3, alpha=0.3, mew=0)
        label = name if norm == "none" else f"{name} norm, split"
        ax.plot(sizes, np.median(values, 1), look, color=plots.COLORS[norm], ms=5, label=label)
    ax.set_xscale("log", base=2)
    on.exactly(ax.xaxis, sizes)
    ax.set(xlabel="cases in a share", ylabel="angle between updates", ylim=(-4, 100))
    ax.set_yticks(range(0, 91, 30))
    ax.yaxis.set_major_formatter("{x:.0f}°")
    ax.legend()
    return fig
