"""What a model paints and where."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from lnbook.figures import plots
from lnbook.pages.sec6_4_draw.model import Draw


@torch.no_grad()
def strokes(
    model: Draw, noise: Float[Tensor, "T N Z"]
) -> tuple[Float[np.ndarray, "T N A A"], Float[np.ndarray, "T N 3"]]:
    """Of pictures that the model makes up, each pixel's probability, and each stroke's `box`, by glimpse."""
    steps = list(model.unroll(noise))
    pictures = torch.stack([step.canvas.sigmoid() for step in steps]).numpy()
    return pictures, np.stack([box(step.write, model.points[1], model.side) for step in steps])


def box(windows: Float[Tensor, "N 5"], points: int, side: int) -> Float[np.ndarray, "N 3"]:
    """Left, top, width of square windows, each point as wide as the stride; pixels span 0 to 1, 1 to 2, ...

    >>> box(torch.zeros(1, 5), 2, side=28).round(1).tolist()  # points on the corners' pixels, each 27 wide
    [[-13.0, -13.0, 54.0]]
    """
    center = (side + 1) / 2 * (windows[:, :2] + 1) - 0.5
    width = points * (side - 1) / max(points - 1, 1) * windows[:, 3:4].exp()
    return torch.cat([center - width / 2, width], 1).numpy()


def windows(
    picture: Float[np.ndarray, "A A"],
    seen: Mapping[str, tuple[Float[np.ndarray, " 3"], Float[np.ndarray, "P P"]]],
    painted: Float[np.ndarray, "A A"],
) -> Figure:
    """A picture with windows (left, top, width) on it, what each reads, and the canvas painted back."""
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
