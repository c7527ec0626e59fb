"""Section 6.5's pictures: written lines, the loss against updates, and where the window looks."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnlib import plots

__all__ = ["known", "losses", "reading", "written"]

LABELS = {"none": "no norm", "layer": "layer norm"}
Curve = Mapping[str, np.ndarray]  # update, mean, low, high
Strokes = Sequence[Float[np.ndarray, "_ 2"]]


def written(lines: Sequence[tuple[str, Strokes]]) -> Figure:
    """Lines of writing below each other, to one measure, each under its title."""
    fig, axes = plots.subplots(len(lines), 1, figsize=(7.0, 1.05 * len(lines)), squeeze=False)
    widest = max(np.ptp(np.concatenate(list(strokes))[:, 0]) for _, strokes in lines)
    for ax, (title, strokes) in zip(axes[:, 0], lines, strict=True):
        _pen(ax, strokes)
        left = min(stroke[:, 0].min() for stroke in strokes)
        ax.set_xlim(left - 0.02 * widest, left + 1.02 * widest)
        ax.set_title(title, loc="left", fontsize=10)
    return fig


def losses(panels: Mapping[str, Sequence[tuple[str, Curve]]]) -> Figure:
    """The loss of a line against updates: a panel a title, a line a run or a mean with its interval."""
    fig, axes = plots.subplots(
        1, len(panels), figsize=(max(4.6, 3.7 * len(panels)), 3.2), sharey=True, squeeze=False
    )
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        _curves(ax, curves)
        ax.set(xlabel="updates", title=title)
    axes[0, 0].set_ylabel("test loss (nats a line)")
    axes[0, 0].legend(loc="upper right")
    return fig


def known(curves: Sequence[tuple[str, Curve]], exact: float) -> Figure:
    """The same, with the exact loss that nothing can beat."""
    fig, ax = plots.subplots(figsize=(5.6, 3.0))
    _curves(ax, curves)
    ax.axhline(exact, color=plots.INK, linewidth=1.0)
    end = max(curve["update"][-1] for _, curve in curves)
    ax.annotate("exact", (end, exact), (0, 4), textcoords="offset points", ha="right")
    ax.set(xlabel="updates", ylabel="test loss (nats a line)", ylim=(0, None))
    ax.legend(loc="upper right")
    return fig


def reading(strokes: Strokes, phi: Float[np.ndarray, "T U"], text: str) -> Figure:
    """A written line, and below it the window's weight of each character at each of its points."""
    fig, (above, below) = plots.subplots(2, 1, figsize=(7.0, 3.8), height_ratios=(1, 2.4))
    _pen(above, strokes)
    shown = phi / np.maximum(phi.max(1, keepdims=True), 1e-9)
    below.imshow(
        shown.T, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest", rasterized=True
    )
    below.set_yticks(range(len(text)), [c if c.strip() else "␣" for c in text])
    below.set(xlabel="points of the pen", ylabel="characters")
    below.grid(visible=False)
    return fig


def _curves(ax: Axes, curves: Sequence[tuple[str, Curve]]) -> None:
    drawn: set[str] = set()
    for norm, curve in curves:
        color, label = plots.COLORS[norm], None if norm in drawn else LABELS[norm]
        ax.plot(curve["update"], curve["mean"], color=color, linestyle=plots.LINES[norm], label=label)
        if "low" in curve:
            ax.fill_between(curve["update"], curve["low"], curve["high"], color=color, alpha=0.2, linewidth=0)
        drawn.add(norm)


def _pen(ax: Axes, strokes: Strokes) -> None:
    for stroke in strokes:
        mark = {"marker": ".", "markersize": 3} if len(stroke) == 1 else {}
        ax.plot(*np.asarray(stroke).T, color=plots.INK, linewidth=1.3, solid_capstyle="round", **mark)
    ax.set_aspect("equal", adjustable="datalim")
    ax.axis("off")
