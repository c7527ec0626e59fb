"""Section 6.5's pictures: written lines, and where the window looks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook.figures import plots

Strokes = Sequence[Float[np.ndarray, "_ 2"]]


def written(lines: Sequence[tuple[str, Strokes]]) -> Figure:
    """Lines of writing below each other, to one measure, each under its title."""
    spans = [np.concatenate(list(strokes)) for _, strokes in lines]
    widest = max(np.ptp(span[:, 0]) for span in spans)
    room, y = 0.07 * widest, 0.0
    height = sum(np.ptp(span[:, 1]) + room for span in spans)
    fig, ax = plots.subplots(figsize=(7.0, min(9.0, max(1.0, 6.8 * height / widest))))
    for (title, strokes), span in zip(lines, spans, strict=True):
        ax.text(0, y - 0.6 * room, title, fontsize=10, parse_math=False)
        shift = np.array([-span[:, 0].min(), y - room - span[:, 1].max()])
        _pen(ax, [stroke + shift for stroke in strokes])
        y -= np.ptp(span[:, 1]) + room
    ax.set(xlim=(-0.02 * widest, 1.02 * widest), ylim=(y - 0.02 * widest, 0))
    return fig


def reading(strokes: Strokes, phi: Float[np.ndarray, "T U"], text: str) -> Figure:
    """A written line, and below it the window's weight of each character at each of its points."""
    fig, (above, below) = plots.subplots(2, 1, figsize=(7.0, 4.6), height_ratios=(1, 3.2))
    _pen(above, strokes)
    shown = phi / np.maximum(phi.max(1, keepdims=True), 1e-9)
    colors = {"cmap": plots.AMOUNT, "vmin": 0, "vmax": 1}
    below.imshow(shown.T, aspect="auto", interpolation="nearest", rasterized=True, **colors)
    below.set_yticks(range(len(text)), [c if c.strip() else "␣" for c in text], fontsize=8)
    below.set(xlabel="points of the pen", ylabel="characters")
    below.grid(visible=False)
    return fig


def _pen(ax: Axes, strokes: Strokes) -> None:
    look: dict[str, Any] = {"color": plots.INK, "lw": 1.3, "solid_capstyle": "round", "ms": 3}
    for stroke in strokes:
        ax.plot(*np.asarray(stroke).T, marker="." if len(stroke) == 1 else "", **look)
    ax.set_aspect("equal")
    ax.axis("off")
