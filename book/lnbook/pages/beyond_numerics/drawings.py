"""The numerics chapter's pictures: errors under a microscope, the range of numbers."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.pages.beyond_numerics.precision import Reading

INK, NONE, LAYER, BATCH = plots.INK, plots.COLORS["none"], plots.COLORS["layer"], plots.COLORS["batch"]
LOOKS = {
    "one pass": (BATCH, "--"),
    "Welford": (plots.COLORS["rms"], "-."),
    "two passes": (NONE, ":"),
    "shifted": (plots.COLORS["weight"], (0, (5, 1, 1, 1))),
    "centered twice": (LAYER, "-"),
    "torch": (INK, (0, (1, 1))),
}


def microscope(seen: Mapping[str, Sequence[Reading]], roundoff: float) -> Figure:
    """Relative errors against |mean|/std in one precision: of the variance, and of the outputs."""
    fig, axes = plots.subplots(1, 2, figsize=(7.2, 3.5), sharey=True)
    for ax, (field, title) in zip(
        axes, {"variance": "of the variance", "output": "of the outputs"}.items(), strict=True
    ):
        for name, values in seen.items():
            color, line = LOOKS[name]
            errors = np.array([getattr(r, field) for r in values]) * roundoff
            errors[errors == 0] = roundoff / 8  # no error is drawn below all roundings
            if not np.isnan(errors).all():
                ax.loglog([r.tilt for r in values], errors, color=color, ls=line, label=name, lw=2.2)
        tilts = np.geomspace(1, 0.25 / roundoff, 50)
        for power, place, name in ((1, 3e-3, r"$u\kappa$"), (2, 3e-5, r"$u\kappa^2$")):
            ax.loglog(tilts, roundoff * tilts**power, color=INK, lw=0.7)
            tilt = place / roundoff
            ax.annotate(name, (tilt, roundoff * tilt**power), (-4, 6), textcoords="offset points", ha="right")
        ax.set(xlabel=r"$\kappa$, mean over std", title=title, ylim=(roundoff / 16, 30))
        on.decades(ax.xaxis, ax.yaxis, ticks=5)
    axes[0].set_ylabel("relative error")
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def spans(rows: Mapping[str, Sequence[str]], powers: Sequence[float]) -> Figure:
    """Verdicts by magnitude as bars, a power of ten each."""
    fig, ax = plots.subplots(figsize=(5.8, 0.42 * len(rows) + 1.3))
    looks = {
        "right": (LAYER, "", "right"),
        "wrong": (BATCH, "//", "wrong, and silent"),
        "nan": (NONE, "xx", "NaN or infinite"),
    }
    for y, verdicts in enumerate(reversed(list(rows.values()))):
        first = powers[0] - 0.5
        for verdict, run in groupby(verdicts):
            width = len(list(run))
            if verdict:
                color, hatch, _ = looks[verdict]
                ax.barh(y, width, 0.7, first, color=color, hatch=hatch, ec=INK if hatch else color, lw=0)
            first += width
    for color, hatch, name in looks.values():
        ax.barh(np.nan, 0, color=color, hatch=hatch, ec=INK, lw=0, label=name)
    ax.set_yticks(range(len(rows)), list(rows)[::-1])
    ax.set(xlabel="standard deviation of the summed inputs", xlim=(powers[0] - 0.5, powers[-1] + 0.5))
    ax.xaxis.set_major_formatter("$10^{{{x:.0f}}}$")
    ax.grid(visible=False)
    fig.legend(loc="outside upper center", ncols=3)
    return fig
