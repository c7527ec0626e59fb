"""Section 3.1's pictures: a recurrence through time, and the drift of its magnitudes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnlib import plots

if TYPE_CHECKING:
    from lnlib.rnn.diagnostics import Diagnosis

__all__ = ["diagnosis"]

LAYER, BATCH, NONE, INK = plots.COLORS["layer"], plots.COLORS["batch"], plots.COLORS["none"], plots.INK


def diagnosis(found: Diagnosis) -> Figure:
    """Magnitudes, saturation, singular values by step, gradient by lag; bands hold half of the cases."""
    fig, ((size, saturated), (stretch, lag)) = plots.subplots(2, 2, figsize=(7.2, 5.4))
    trace = found.trace
    _band(size, trace.h.square().mean(-1).sqrt().numpy(), LAYER, "root mean square of h")
    _band(size, trace.std.numpy(), BATCH, r"$\sigma^t$ of summed inputs", "--")
    size.set(title="magnitude", xlabel="step", ylim=(0, None))
    size.legend()
    _band(saturated, 100 * trace.saturation.numpy(), LAYER, "")
    saturated.set(title="saturated units (%)", xlabel="step", ylim=(0, 100))
    _band(stretch, found.singular_values[..., 0].numpy(), LAYER, "largest")
    _band(stretch, found.singular_values.median(-1).values.numpy(), NONE, "median", ":")
    stretch.axhline(1, color=INK, lw=0.8)
    stretch.set(title="singular values of the Jacobian", xlabel="step", yscale="log")
    stretch.legend()
    lag.semilogy(found.gradient_by_lag.numpy(), color=LAYER)
    lag.set(title=rf"gradient by lag; $\lambda$ = {found.lyapunov.median():.2f} a step", xlabel="lag")
    return fig


def _band(ax: Axes, values: np.ndarray, color: str, label: str, ls: str = "-") -> None:
    """The median of the cases by step, and the quartiles around it; values are (T, N)."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=1)
    step = np.arange(1, len(values) + 1)
    ax.plot(step, middle, color=color, ls=ls, label=label)
    ax.fill_between(step, low, high, color=color, alpha=0.2, lw=0)
