"""Section 6.2's pictures: errors against updates, gains side by side, and attention on a text."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import plots

LABELS = {
    "none": "no norm",
    "batch": "batch norm",
    "batch everywhere": "batch norm everywhere",
    "layer": "layer norm",
}
WORD = {"ha": "center", "va": "center", "family": "monospace", "fontsize": 8.5, "parse_math": False}
WIDTH = 46  # of a line of text, in characters
Bands = Mapping[Any, pd.DataFrame]  # as `lnbook.curves.band` makes them, by norm or gain


def errors(curves: Bands) -> Figure:
    """Validation error in percent against updates: one band per norm."""
    fig, ax = plots.subplots(figsize=(6.4, 3.6))
    for norm, curve in curves.items():
        _band(ax, curve, norm, LABELS[norm], plots.LINES[norm])
    lowest = min(curve["mean"].min() for curve in curves.values())
    ax.set(xlabel="updates", ylabel="validation error (%)", ylim=(lowest - 8, 100))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return fig


def gains(panels: Mapping[str, Bands]) -> Figure:
    """One panel per norm: validation error in percent against updates, one band per gain at the start."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.4, 3.2), sharey=True)
    for ax, (norm, curves) in zip(axes, panels.items(), strict=True):
        for gain, curve in curves.items():
            _band(ax, curve, norm, f"gain {gain:g}", "-" if gain == 1 else "--")
        ax.set(xlabel="updates", title=LABELS[norm])
        ax.legend(loc="upper right")
    lowest = min(curve["mean"].min() for curves in panels.values() for curve in curves.values())
    axes[0].set(ylabel="validation error (%)", ylim=(lowest - 8, 100))
    return fig


def _band(ax: Axes, curve: pd.DataFrame, norm: str, label: str, line: object) -> None:
    color = plots.COLORS[norm]
    ax.plot(curve["update"], curve["mean"], color=color, linestyle=line, label=label)
    ax.fill_between(curve["update"], curve["low"], curve["high"], color=color, alpha=0.12, linewidth=0)


def attention(panels: Sequence[tuple[str, Sequence[str], Sequence[float]]]) -> Figure:
    """Texts whose words are marked the darker the more attention they get: title, tokens, weights of each."""
    laid = [(title, _lines(tokens, weights)) for title, tokens, weights in panels]
    heights = [1 + len(lines) for _, lines in laid]
    size = (5.2, 0.25 * sum(heights) + 0.15 * len(laid))
    fig, axes = plots.subplots(len(laid), 1, figsize=size, squeeze=False, height_ratios=heights)
    for ax, (title, lines) in zip(axes[:, 0], laid, strict=True):
        most = max(weight for line in lines for *_, weight in line)
        for row, line in enumerate(lines):
            for column, token, weight in line:
                place = (column - 0.3, row - 0.45)
                box = Rectangle(place, len(token) + 0.6, 0.9, color=plots.COLORS["layer"], linewidth=0)
                box.set_alpha(0.65 * weight / most)
                ax.add_patch(box)
                middle = column + len(token) / 2
                ax.text(middle, row, token, **WORD)
        ax.set(xlim=(-1, WIDTH + 1), ylim=(len(lines) - 0.4, -0.6))
        ax.set_title(title, loc="left", fontsize=10, parse_math=False)
        ax.set_axis_off()
    return fig


def _lines(tokens: Sequence[str], weights: Sequence[float]) -> list[list[tuple[int, str, float]]]:
    """Tokens in lines, each with its column and weight."""
    lines: list[list[tuple[int, str, float]]] = [[]]
    column = 0
    for token, weight in zip(tokens, weights, strict=True):
        if column + len(token) > WIDTH and lines[-1]:
            lines.append([])
            column = 0
        lines[-1].append((column, token, float(weight)))
        column += len(token) + 1
    return lines
