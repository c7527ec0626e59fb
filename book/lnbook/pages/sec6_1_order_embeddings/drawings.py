"""Section 6.1's pictures: pictures as boxes, and recall against updates."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.data.captions import Boxes
from lnbook.figures import plots
from lnbook.pages.sec6_1_order_embeddings.ranking import TOP
from lnbook.shared.learning_curves import lines


def pictures(boxes: Sequence[Boxes], names: Sequence[str], texts: Sequence[str]) -> Figure:
    """Pictures side by side as what is known of them, boxes with names of classes, and a text under each."""
    fig, axes = plots.subplots(1, len(boxes), figsize=(7.4, 3.1), squeeze=False)
    for ax, each, text in zip(axes[0], boxes, texts, strict=True):
        _picture(ax, each, names)
        ax.set_xlabel(textwrap.fill(text, 96 // len(boxes)), fontsize=9, loc="left", parse_math=False)
    return fig


def recalls(curves: Mapping[int, Mapping[str, pd.DataFrame]]) -> Figure:
    """Figure 1: recall at K in percent against updates; one panel per K, one line and band per norm."""
    fig, axes = plots.subplots(1, len(TOP), figsize=(7.4, 2.9))
    for ax, (k, by_norm) in zip(axes, curves.items(), strict=True):
        lines(ax, by_norm.items())
        ax.set(title=f"R@{k}", xlabel="updates", ylim=(0, None))
    axes[0].set_ylabel("pictures found (%)")
    axes[0].legend(loc="lower right")
    return fig


def _picture(ax: Axes, boxes: Boxes, names: Sequence[str]) -> None:
    """The outlines of the boxes, and the names of the largest of each class."""
    area = np.prod(boxes.corners[:, 2:] - boxes.corners[:, :2], axis=1)
    named: set[int] = set()
    for k in np.argsort(-area)[:20]:
        left, top, right, bottom = boxes.corners[k]
        kind = int(boxes.classes[k])
        color = list(plots.OTHERS.values())[kind % len(plots.OTHERS)]
        ax.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=color, lw=1.2))
        if kind not in named and len(named) < 8:
            place = (left + 0.02 * boxes.width, top + 0.02 * boxes.height)
            name = ax.annotate(names[kind], place, va="top", fontsize=8, color=plots.INK, clip_on=True)
            name.set_in_layout(False)
            named.add(kind)
    ax.set(xlim=(0, boxes.width), ylim=(boxes.height, 0), xticks=[], yticks=[], aspect="equal", anchor="N")
    ax.grid(visible=False)
    ax.spines[:].set_visible(True)
