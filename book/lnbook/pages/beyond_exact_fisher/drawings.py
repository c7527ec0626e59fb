"""The exact Fisher's pictures: which blocks vanish, what nobody sees, and how it learns."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from torch import Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, NONE, LAYER, BATCH = plots.INK, plots.COLORS["none"], plots.COLORS["layer"], plots.COLORS["batch"]
Curve = Float[np.ndarray, " points"]

LOOKS = {
    "sgd": (plots.OTHERS["magenta"], ":", "SGD"),
    "adam": (INK, "--", "Adam"),
    "natural": (plots.OTHERS["teal"], "-", "natural gradient"),
    "kfac": (plots.OTHERS["teal"], (0, (2, 2)), "... in factors"),
    "printed": (plots.OTHERS["red"], "-.", "... with Eq. (13)"),
    "empirical": (plots.OTHERS["olive"], (0, (5, 1, 1, 1)), "... empirical"),
}


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


def damping(
    values: Sequence[float], natural: Mapping[str, Sequence[float]], gradient: Mapping[str, float]
) -> Figure:
    """How far two steps of one function are apart, by damping; at the right end, by the plain gradient."""
    fig, ax = plots.subplots(figsize=(7.2, 3.3))
    end = 30 * max(values)
    for name, apart in natural.items():
        color, line = plots.COLORS[name], plots.LINES[name]
        ax.loglog(values, apart, color=color, ls=line, marker="o", ms=4, label=f"{name} norm")
        ax.plot(end, gradient[name], "s", color=color, ms=8, mfc="none", mew=2, clip_on=False)
    ax.plot([], [], "s", color=INK, ms=8, mfc="none", mew=2, label="plain gradient")
    ax.axvspan(3 * max(values), 3 * end, color=NONE, alpha=0.15, lw=0)
    ax.set(xlabel=r"damping $\lambda$ / mean eigenvalue", xlim=(min(values), 3 * end))
    ax.set_title("two steps of one function: relative difference")
    on.decades(ax.xaxis, ax.yaxis, ticks=8)
    ax.legend(loc="lower right", bbox_to_anchor=(0.86, 0))
    return fig


def learning(curves: Mapping[str, Mapping[str, Curve]], goal: float) -> Figure:
    """Training loss against steps and against seconds, and the goal as a line."""
    fig, axes = plots.subplots(1, 2, figsize=(7.2, 3.7), sharey=True)
    for method, curve in curves.items():
        color, line, label = LOOKS[method]
        for ax, clock in zip(axes, ("step", "seconds"), strict=True):
            ax.plot(curve[clock][1:], curve["mean"][1:], color=color, ls=line, label=label)
    for ax, xlabel in zip(axes, ("steps", "processor seconds"), strict=True):
        ax.axhline(goal, color=INK, lw=0.8)
        ax.set(xlabel=xlabel, yscale="log")
    on.exactly(axes[0].yaxis, [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2])
    axes[1].set_xscale("log")
    axes[0].set_ylabel("training loss (nats)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
