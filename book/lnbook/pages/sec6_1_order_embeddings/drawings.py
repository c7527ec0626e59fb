"""Section 6.1's picture: pictures as boxes."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.data.captions import Boxes
from lnbook.figures import plots


def pictures(boxes: Sequence[Boxes], names: Sequence[str], texts: Sequence[str]) -> Figure:
    """Pictures side by side as what is known of them, a text under each: their largest boxes, and names of
    classes at the largest of each class.
    """
    fig, axes = plots.subplots(1, len(boxes), figsize=(7.4, 3.1))
    colors = list(plots.OTHERS.values())
    for ax, each, text in zip(axes, boxes, texts, strict=True):
        area = np.prod(each.corners[:, 2:] - each.corners[:, :2], axis=1)
        named: set[int] = set()
        for k in np.argsort(-area)[:20]:
            left, top, right, bottom = each.corners[k]
            kind = int(each.classes[k])
            shape = (left, top), right - left, bottom - top
            ax.add_patch(Rectangle(*shape, fill=False, edgecolor=colors[kind % len(colors)], lw=1.2))
            if kind not in named and len(named) < 8:
                place = (left + 0.02 * each.width, top + 0.02 * each.height)
                name = ax.annotate(names[kind], place, va="top", fontsize=8, color=plots.INK, clip_on=True)
                name.set_in_layout(False)
                named.add(kind)
        ax.set(xlim=(0, each.width), ylim=(each.height, 0), xticks=[], yticks=[], aspect="equal", anchor="N")
        ax.grid(visible=False)
        ax.spines[:].set_visible(True)
        ax.set_xlabel(textwrap.fill(text, 96 // len(boxes)), fontsize=9, loc="left", parse_math=False)
    return fig
