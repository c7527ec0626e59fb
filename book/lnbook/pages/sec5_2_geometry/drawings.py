"""Section 5.2's picture: Fisher matrices, exact and as printed."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from lnbook.figures import plots


def fisher_images(matrices: Mapping[str, Float[Tensor, "P P"]], H: int, D: int) -> Figure:
    """Fisher matrices of H units as images on one color scale, lines between units, blocks labelled."""
    fig, axes = plots.subplots(1, len(matrices), figsize=(5.6, 2.7))
    extreme = max(float(F.abs().max()) for F in matrices.values())
    starts = np.arange(H) * (D + 2)
    places = [start + at for start in starts for at in (D / 2, D + 0.5, D + 1.5)]
    names = [f"${letter}_{i + 1}$" for i in range(H) for letter in "wbg"]
    for ax, (title, F) in zip(axes, matrices.items(), strict=True):
        n = len(F)
        image = ax.imshow(
            F.numpy(), vmin=-extreme, vmax=extreme, extent=(0, n, n, 0), interpolation="nearest"
        )
        for edge in starts[1:]:
            ax.axvline(edge, color=plots.INK, lw=1)
            ax.axhline(edge, color=plots.INK, lw=1)
        ax.set(title=title, xticks=places, yticks=places)
        ax.set_xticklabels(names)
        ax.set_yticklabels(names)
        ax.grid(False)
        ax.tick_params(length=0, pad=2)
    fig.colorbar(image, ax=axes, shrink=0.8)
    return fig
