"""Section 6.4's picture: the windows."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import plots


def windows(
    picture: Float[np.ndarray, "A A"],
    seen: Mapping[str, tuple[Float[np.ndarray, " 3"], Float[np.ndarray, "P P"]]],
    painted: Float[np.ndarray, "A A"],
) -> Figure:
    """A picture with windows on it, what each reads, and the canvas after the last was painted back.

    By title, `seen` has a window (left, top, width) and what is read through it.
    """
    fig, axes = plots.subplots(1, 2 + len(seen), figsize=(7.4, 2.1))
    _show(axes[0], picture, "the picture")
    for ax, style, (title, (place, patch)) in zip(axes[1:], ("-", "--"), seen.items(), strict=False):
        _outline(axes[0], place, style, 1.8)
        _show(ax, patch, title)
        _outline(ax, np.array([0.0, 0.0, len(patch)]), style, 3)
    _show(axes[-1], painted, "painted back")
    return fig


def _show(ax: Axes, picture: Float[np.ndarray, "h w"], title: str) -> None:
    """Ink on paper: 1 is dark."""
    h, w = picture.shape
    ax.imshow(picture, cmap="Greys", vmin=0, vmax=1, extent=(0, w, h, 0), interpolation="nearest")
    ax.set(xticks=[], yticks=[], title=title)
    ax.grid(visible=False)
    ax.spines[:].set_visible(True)


def _outline(ax: Axes, place: Float[np.ndarray, " 3"], style: str, linewidth: float) -> None:
    left, top, width = place
    line = {"edgecolor": plots.COLORS["batch"], "linestyle": style, "linewidth": linewidth}
    ax.add_patch(Rectangle((left, top), width, width, fill=False, zorder=5, **line))
