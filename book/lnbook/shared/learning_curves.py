"""Learning curves of several methods, and panels of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook.figures import plots

LABELS = {"none": "no norm", "batch": "batch norm", "layer": "layer norm"}
Curve: TypeAlias = Mapping[str, Sequence[float] | np.ndarray] | pd.DataFrame  # update, mean, low, high


def by_title(panels: Mapping[str, Mapping[str, Curve]], ylabel: str) -> Figure:
    """Curves against updates: one panel per title, one line and band per norm."""
    width = 7.2 if len(panels) > 1 else 6.0
    fig, axes = plots.subplots(1, len(panels), figsize=(width, 3.2), sharey=True, squeeze=False)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        lines(ax, curves.items())
        ax.set(title=title, xlabel="updates")
    axes[0, 0].set_ylabel(ylabel)
    axes[0, 0].legend(loc="upper right")
    return fig


def lines(ax: Axes, curves: Iterable[tuple[str, Curve]], least: float = -np.inf) -> None:
    """Draw curves into a panel, one name a norm in the legend, a band for intervals, cut below `least`."""
    drawn: set[str] = set()
    for norm, curve in curves:
        color, label = plots.COLORS[norm], None if norm in drawn else LABELS[norm]
        ax.plot(curve["update"], curve["mean"], color=color, linestyle=plots.LINES[norm], label=label)
        if "low" in curve:
            low = np.maximum(curve["low"], least)
            ax.fill_between(curve["update"], low, curve["high"], color=color, alpha=0.2, linewidth=0)
        drawn.add(norm)
