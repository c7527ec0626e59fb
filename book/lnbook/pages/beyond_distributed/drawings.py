"""The picture of distributed training: what parting does."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

NONE, LAYER, BATCH = plots.COLORS["none"], plots.COLORS["layer"], plots.COLORS["batch"]


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
