"""The page's pictures: rows that slide and change no output, and evidence by prior."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from lnbook.figures import axes as on
from lnbook.figures import plots

NONE, LAYER = plots.COLORS["none"], plots.COLORS["layer"]
Curve = Float[np.ndarray, " points"]


def sliding(
    rows: Float[np.ndarray, "H 2"],
    path: Float[np.ndarray, "S H"],
    moved: Curve,
    changed: Curve,
    control: Curve,
) -> Figure:
    """Centered rows that slide on their rays, their ellipse of inertia; what that does to the outputs."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.4))
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    left.add_patch(Ellipse((0, 0), *(2 * np.sqrt(values[::-1])), angle=angle, fill=False, ec=NONE, lw=1.6))
    for row, t in zip(rows, path.T, strict=True):
        far = 1.15 * max(t.max(), 1)
        left.plot([0, far * row[0]], [0, far * row[1]], color=NONE, lw=0.6)
        left.plot(t * row[0], t * row[1], color=LAYER, lw=2.4)
        left.plot(*row, "o", color=NONE, ms=7)
        left.plot(*(t[-1] * row), "o", color=LAYER, ms=7)
    left.plot(0, 0, "+", color=plots.INK, ms=9)
    left.set(title="centered rows of $W$", xlabel="input 1", ylabel="input 2")
    left.set_aspect("equal", adjustable="datalim")
    right.semilogy(moved[1:], control[1:], color=NONE, ls="--", label="a random slide")
    right.semilogy(moved[1:], np.maximum(changed[1:], 1e-17), color=LAYER, label="hidden symmetry")
    right.set(xlabel="weights moved (relative)", title="outputs changed (relative)", ylim=(1e-17, 1e2))
    on.decades(right.yaxis)
    right.legend(loc="center right")
    return fig


def evidences(precisions: Sequence[float], plain: Mapping[float, Curve], canonical: Curve) -> Figure:
    """Evidence against the prior's precision, of the same function with several scales of the weights."""
    fig, ax = plots.subplots(figsize=(7.2, 3.0))
    for (factor, curve), style in zip(plain.items(), (":", "-.", "--"), strict=True):
        ax.semilogx(precisions, curve, color=plots.INK, lw=1.2, ls=style, label=f"{factor:g} W")
    ax.semilogx(precisions, canonical, color=plots.OTHERS["red"], lw=2.5, label="canonical, of all three")
    ax.set(xlabel=r"precision $\delta$ of the prior", title="log evidence (nats)")
    ax.legend(loc="lower left")
    return fig
