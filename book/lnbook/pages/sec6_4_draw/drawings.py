"""Section 6.4's pictures: the windows, and digits as they form."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import plots

WINDOW = plots.COLORS["batch"]


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
    for k, (ax, (title, (place, patch))) in enumerate(zip(axes[1:], seen.items(), strict=False)):
        _outline(axes[0], place, linestyle=("-", "--", ":")[k], linewidth=1.8)
        _show(ax, patch, title)
        _outline(ax, np.array([0.0, 0.0, len(patch)]), linestyle=("-", "--", ":")[k], linewidth=3)
    _show(axes[-1], painted, "painted back")
    return fig


def strip(
    pictures: Float[np.ndarray, "T N A A"], places: Float[np.ndarray, "T N 3"], steps: Sequence[int]
) -> Figure:
    """Pictures as they form, one row per picture, one column per glimpse, each with its window."""
    rows = pictures.shape[1]
    width = min(7.4, 1.1 * len(steps))
    fig, axes = plots.subplots(
        rows, len(steps), figsize=(width, width / len(steps) * rows + 0.3), squeeze=False
    )
    for n, t in np.ndindex(rows, len(steps)):
        ax, step = axes[n][t], steps[t]
        _show(ax, pictures[step, n], f"{step + 1}" if n == 0 else "")
        _outline(ax, places[step, n], linewidth=1.2)
    return fig


def _show(ax: Axes, picture: Float[np.ndarray, "h w"], title: str) -> None:
    """Ink on paper: 1 is dark."""
    h, w = picture.shape
    ax.imshow(picture, cmap="Greys", vmin=0, vmax=1, extent=(0, w, h, 0), interpolation="nearest")
    ax.set(xticks=[], yticks=[], title=title)
    ax.grid(visible=False)
    ax.spines[:].set_visible(True)


def _outline(ax: Axes, place: Float[np.ndarray, " 3"], **line: object) -> None:
    left, top, width = place
    shape = Rectangle((left, top), width, width, fill=False, edgecolor=WINDOW, **line)  # type: ignore[arg-type]
    shape.set_zorder(5)
    ax.add_patch(shape)
