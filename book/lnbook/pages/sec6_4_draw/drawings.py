"""Section 6.4's picture: the windows."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
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
    panels = {"the picture": picture, **{k: patch for k, (_, patch) in seen.items()}, "painted back": painted}
    for ax, (title, shown) in zip(axes, panels.items(), strict=True):
        h, w = shown.shape
        # ink on paper: 1 is dark
        ax.imshow(shown, cmap="Greys", vmin=0, vmax=1, extent=(0, w, h, 0), interpolation="nearest")
        ax.set(xticks=[], yticks=[], title=title)
        ax.grid(visible=False)
        ax.spines[:].set_visible(True)
    for ax, style, (place, patch) in zip(axes[1:], ("-", "--"), seen.values(), strict=False):
        for on, (left, top, width), wide in ((axes[0], place, 1.8), (ax, (0, 0, len(patch)), 3)):
            frame = Rectangle((left, top), width, width, fill=False, zorder=5, ls=style, lw=wide)
            frame.set_edgecolor(plots.COLORS["batch"])
            on.add_patch(frame)
    return fig
