"""The variants' picture: what training makes of each."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.ledger.intervals import interval

INK, LAYER = plots.INK, plots.COLORS["layer"]


def trained(panels: Mapping[str, Mapping[str, Sequence[float]]], lines: Mapping[str, float | None]) -> Figure:
    """For each panel, every run of each variant, with its mean and 95 % interval; a line to compare with."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.7))
    for ax, (title, runs) in zip(axes, panels.items(), strict=True):
        for place, values in enumerate(runs.values()):
            mean, low, high = interval(values)
            ax.plot(values, [place - 0.18] * len(values), "o", color=LAYER, ms=4, alpha=0.5, mew=0)
            ax.plot([max(low, 0), high], [place] * 2, color=LAYER, lw=2.4)
            ax.plot(mean, place, "D", color=LAYER, ms=6)
        if (line := lines.get(title)) is not None:
            ax.axvline(line, color=INK, lw=1, ls="--")
        ax.set_yticks(range(len(runs)), list(runs))
        ax.set(title=title, xlim=(0, None), ylim=(len(runs) - 0.5, -0.6))
        ax.tick_params(axis="y", length=0)
    return fig
