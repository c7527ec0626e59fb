"""The pictures of the page: eigenvalues with the directions that nobody sees, and evidence by prior."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import plots

INK, TEAL, RED = plots.INK, plots.OTHERS["teal"], plots.OTHERS["red"]
STYLES = (":", "-.", "--")


def spectrum(values: Float[np.ndarray, " P"], gauge: int, expected: int) -> Figure:
    """Eigenvalues from the smallest, and where theory says that those which are 0 end."""
    fig, ax = plots.subplots(figsize=(7.2, 3.3))
    seen = np.arange(1, len(values) + 1)
    ax.semilogy(seen, values, "o", ms=3, color=TEAL)
    ax.axvline(gauge + 0.5, color=RED, ls="--", label=f"norms: {gauge}")
    ax.axvline(expected + 0.5, color=INK, ls=":", label=f"with the softmax: {expected}")
    ax.set(xlabel="eigenvalue, from the smallest", title="size of the eigenvalues of $F$")
    ax.legend(loc="lower right")
    return fig


def evidences(
    precisions: Sequence[float],
    plain: Mapping[float, Float[np.ndarray, " points"]],
    canonical: Float[np.ndarray, " points"],
) -> Figure:
    """Evidence against the prior's precision, of the same function with several scales of the weights."""
    fig, ax = plots.subplots(figsize=(7.2, 3.3))
    for (factor, curve), style in zip(plain.items(), STYLES, strict=True):
        ax.semilogx(precisions, curve, color=INK, lw=1.2, ls=style, label=f"{factor:g} W")
    ax.semilogx(precisions, canonical, color=RED, lw=2.5, label="canonical, of all three")
    ax.set(xlabel=r"precision $\delta$ of the prior", title="log evidence (nats)")
    ax.legend(loc="lower left")
    return fig
