"""Section 6.1's pictures, as boxes."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.data.captions import Boxes
from lnbook.figures import plots


def pictures(boxes: Sequence[Boxes], names: Sequence[str], texts: Sequence[str]) -> Figure:
    """What is known of pictures: their largest boxes, each class named at its largest; a text below each."""
    fig, axes = plots.subplots(1, len(boxes), figsize=(7.2, 3.1))
    for ax, each, text in zip(axes, boxes, texts, strict=True):
        area = np.prod(each.corners[:, 2:] - each.corners[:, :2], axis=1)
        named: set[int] = set()
        for k in np.argsort(-area)[:20]:
            (left, top, right, bottom), kind = each.corners[k], int(each.classes[k])
            shape = (left, top), right - left, bottom - top
            ax.add_patch(Rectangle(*shape, fill=False, edgecolor=plots.OTHERS["teal"], lw=1.2))
            if kind not in named and len(named) < 6:
                late, high = left > 0.55 * each.width, top < 0.1 * each.height  # it would run over an edge
                place = right - 0.01 * each.width if late else left + 0.01 * each.width, top
                sides = {"ha": "right" if late else "left", "va": "top" if high else "bottom"}
                name = ax.annotate(names[kind], place, fontsize=8, color=plots.INK, **sides)
                name.set_in_layout(False)
                named.add(kind)
        ax.set(xlim=(0, each.width), ylim=(each.height, 0), xticks=[], yticks=[], aspect="equal", anchor="N")
        ax.grid(visible=False)
        ax.spines[:].set_visible(True)
        ax.set_xlabel(textwrap.fill(text, 93 // len(boxes)), fontsize=9, loc="left", parse_math=False)
    return fig
