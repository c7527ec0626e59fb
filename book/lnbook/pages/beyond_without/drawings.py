"""What networks reach, a mark a network."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import plots

NONE, LAYER, OTHERS = plots.COLORS["none"], plots.COLORS["layer"], plots.OTHERS
Seeds = Float[np.ndarray, " seeds"]


def dots(panels: Mapping[str, Mapping[str, Seeds]], quantity: str) -> Figure:
    """What networks of each way reach: one panel per setting, one row per way, small marks: networks."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 2.8), sharey=True, squeeze=False)
    for ax, (title, found) in zip(axes[0], panels.items(), strict=True):
        for row, (name, values) in enumerate(found.items()):
            with_norm = LAYER if "norm" in name else OTHERS["teal"]
            color = NONE if name == "without a norm" else with_norm
            ax.plot(values, [row] * len(values), ".", color=color, ms=4, alpha=0.5)
            ax.plot(np.mean(values), row, "o", color=color, ms=6)
        ax.set(title=title, xlabel=quantity, yticks=range(len(found)), yticklabels=list(found))
        ax.set_ylim(len(found) - 0.5, -0.5)
    return fig
