"""What many pictures do: plain numbers on logarithmic axes, means with intervals, names at lines' ends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator


def plain(*axes: Axis, subs: Sequence[float] = (1, 2, 5)) -> None:
    """Plain numbers on logarithmic axes, at these parts of each power of ten, and nothing between."""
    for axis in axes:
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())


def decades(*axes: Axis, ticks: int = 7) -> None:
    """At most so many ticks on logarithmic axes, all at powers of ten."""
    for axis in axes:
        axis.set_major_locator(LogLocator(numticks=ticks))
        axis.set_minor_locator(NullLocator())


def exactly(axis: Axis, values: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """These ticks on a logarithmic axis, with their own numbers for labels, and nothing between."""
    axis.set_ticks(values, labels or [f"{value:,g}" for value in values])
    axis.set_minor_locator(NullLocator())


def runs(ax: Axes, places: Any, values: Any, mark: str, label: str = "", **look: Any) -> None:
    """A mark for each run, a row of the values, at each place; one name in the legend for all."""
    lines = ax.plot(places, np.transpose(values), mark, **({"ms": 4, "alpha": 0.6} | look))
    lines[0].set_label(label)


def legend(fig: Figure) -> None:
    """One legend above all axes, in two columns: each name once."""
    shown: dict[Any, Any] = {
        mark.get_label(): mark for ax in fig.axes for mark in ax.get_legend_handles_labels()[0]
    }
    fig.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=2)


def name(ax: Axes, text: str, x: Any, y: Any, offset: tuple[float, float] = (6, 0), **look: Any) -> None:
    """The text beside a line's last point, so many points away."""
    ax.annotate(text, (x[-1], y[-1]), offset, textcoords="offset points", **look)
