"""The exact Fisher's pictures: which blocks vanish, and what nobody sees."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from torch import Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]
Curve = Float[np.ndarray, " points"]


def blocks(matrices: Mapping[str, Float[Tensor, "P P"]], H: int, D: int) -> Figure:
    """Fisher matrices sorted into weights, biases, gains; scaled to a diagonal of ones."""
    fig, axes = plots.subplots(1, len(matrices), figsize=(7.2, 2.9))
    kind = np.tile([0] * D + [1, 2], H)
    order = np.argsort(kind, kind="stable")
    edges = [H * D, H * (D + 1)]
    for ax, (title, F) in zip(axes, matrices.items(), strict=True):
        M = F.numpy()[np.ix_(order, order)]
        n = len(M)
        image = ax.imshow(
            np.abs(M), vmin=0, vmax=1, cmap=plots.AMOUNT, extent=(0, n, n, 0), interpolation="nearest"
        )
        for edge in edges:
            ax.axvline(edge, color=INK, lw=1)
            ax.axhline(edge, color=INK, lw=1)
        places = [H * D / 2, H * (D + 0.5), H * (D + 1.5)]
        ax.set(title=title, xticks=places, yticks=places, xticklabels=list("wbg"), yticklabels=list("wbg"))
        ax.grid(False)
        ax.tick_params(length=0)
    fig.colorbar(image, ax=axes, shrink=0.7, aspect=15, pad=0.02)
    return fig


def sliding(
    rows: Float[np.ndarray, "H 2"],
    path: Float[np.ndarray, "S H"],
    moved: Curve,
    changed: Curve,
    control: Curve,
) -> Figure:
    """Centered rows that slide on their rays, their ellipse of inertia; what that does to the outputs."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.6), width_ratios=(1, 1))
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    axes = 2 * np.sqrt(values[::-1])
    left.add_patch(Ellipse((0, 0), axes[0], axes[1], angle=angle, fill=False, ec=NONE, lw=1.6))
    for row, t in zip(rows, path.T, strict=True):
        far = 1.15 * max(t.max(), 1)
        left.plot([0, far * row[0]], [0, far * row[1]], color=NONE, lw=0.6)
        left.plot(t * row[0], t * row[1], color=LAYER, lw=2.4)
        left.plot(*row, "o", color=NONE, ms=7)
        left.plot(*(t[-1] * row), "o", color=LAYER, ms=7)
    left.plot(0, 0, "+", color=INK, ms=9)
    left.set(title="centered rows of $W$", xlabel="input 1", ylabel="input 2")
    left.set_aspect("equal", adjustable="datalim")
    right.semilogy(moved[1:], control[1:], color=NONE, ls="--", label="a random slide")
    right.semilogy(moved[1:], np.maximum(changed[1:], 1e-17), color=LAYER, label="hidden symmetry")
    right.set(xlabel="weights moved (relative)", title="outputs changed (relative)", ylim=(1e-17, 1e2))
    on.decades(right.yaxis)
    right.legend(loc="center right")
    return fig
