"""Section 6.6's pictures: learning curves."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lnbook.figures import plots

LABELS = {
    "none": "no norm",
    "batch": "batch norm",
    "layer": "layer norm",
    "rms": "RMS norm",
    "weight": "weight norm",
    "batch, hidden only": "batch norm, not on logits",
    "layer, logits too": "layer norm, logits too",
}
CASES = 55_000  # of training
Curve: TypeAlias = Mapping[str, Sequence[float]] | pd.DataFrame  # update, mean, low, high
PERCENT = [1, 2, 3, 5, 10, 20, 50, 100]


def listed(values: Mapping[str, float] | pd.Series, form: str) -> str:
    """Numbers of several norms in words.

    >>> listed({"none": 1.25, "batch": 2.0}, ".1f")
    'no norm 1.2, batch norm 2.0'
    """
    return ", ".join(f"{LABELS[norm]} {value:{form}}" for norm, value in values.items())


def learning(panels: Mapping[int, Mapping[str, Mapping[str, Curve]]]) -> Figure:
    """Training loss above, test error below, against passes through the data: one column per batch size.

    Panels are by batch size, column ("train_loss", "test_error" in percent) and norm.
    """
    fig, axes = plots.subplots(2, len(panels), figsize=(7.4, 5.6), squeeze=False, sharey="row")
    for (batch_size, columns), (above, below) in zip(panels.items(), axes.T, strict=True):
        for ax, key in ((above, "train_loss"), (below, "test_error")):
            for norm, curve in columns[key].items():
                _band(ax, norm, curve, batch_size / CASES)
            ax.set(yscale="log", xlim=(0, None))
            drawn = [curve["mean"] for by_column in panels.values() for curve in by_column[key].values()]
            _around(np.concatenate(drawn), ax)
        above.set(title=f"batch of {batch_size}")
        below.set(xlabel="passes through the data")
        _in_percent(below)
    axes[0, 0].set_ylabel("training NLL (nats)")
    axes[1, 0].set_ylabel("test error (%)")
    axes[1, 0].legend(loc="upper right")
    return fig


def first_epoch(curves: Mapping[str, Curve], floor: tuple[Sequence[float], Sequence[float]]) -> Figure:
    """Training loss in the first pass, and below which line normalized logits cannot bring it."""
    fig, ax = plots.subplots(figsize=(7.2, 3.8))
    ax.fill_between(*floor, 1e-3, color=plots.COLORS["none"], alpha=0.25, linewidth=0)
    for norm, curve in curves.items():
        _band(ax, norm, curve)
    highest = max(max(curve["mean"]) for curve in curves.values())
    ax.set(xlabel="updates", ylabel="training NLL (nats)", yscale="log", ylim=(0.06, 1.3 * highest))
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2) if tick < 1.3 * highest]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.yaxis.set_minor_locator(NullLocator())
    place = int(0.3 * len(floor[0]))
    ax.annotate("out of reach of normalized logits", (floor[0][place], 0.07))
    ax.legend(loc="upper right")
    return fig


def overconfident(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with `overconfidence`: how much surer than right a network is, in points."""
    return rows.assign(overconfidence=100 * (rows["test_confidence"] - 1 + rows["test_error"]))


def _band(ax: Axes, norm: str, curve: Curve, passes: float = 1) -> None:
    """A curve over its updates, times the passes that an update is."""
    look, at = _look(norm), passes * np.asarray(curve["update"])
    ax.plot(at, curve["mean"], **look)
    if "low" in curve:
        ax.fill_between(at, curve["low"], curve["high"], color=look["color"], alpha=0.2, linewidth=0)


def _look(norm: str) -> dict[str, Any]:
    """Color and line of a norm; one that exchanges the logits is dotted, in its family's color."""
    base = norm.split(",")[0]
    line = plots.LINES[base] if base == norm else (0, (1, 1))
    width = 1.8 if base == norm else 2.4
    return {"color": plots.COLORS[base], "linestyle": line, "linewidth": width, "label": LABELS[norm]}


def _around(means: Sequence[float] | np.ndarray, ax: Axes) -> None:
    """Show the means, on a log axis; few seeds have intervals that would leave no room for them."""
    ax.set_ylim(np.nanmin(means) / 1.5, 1.5 * np.nanmax(means))


def _in_percent(ax: Axes) -> None:
    low, high = ax.get_ylim()
    ticks = [tick for tick in PERCENT if low < tick < high]
    ax.set_yticks(ticks, [str(tick) for tick in ticks])
    ax.yaxis.set_minor_locator(NullLocator())
