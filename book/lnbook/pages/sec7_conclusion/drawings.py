"""The conclusion's picture: which experiments gain."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.pages.sec7_conclusion.pooling import Pooled
from lnbook.pages.sec7_conclusion.reading import Factors


def forest(
    races: Mapping[str, Factors], summaries: Mapping[str, Pooled], titles: Mapping[str, str]
) -> Figure:
    """The factors of all experiments by section, and their means with the range of another experiment.

    The means are of the factors at own step sizes and at one, in this order.
    """
    fig, ax = plots.subplots(figsize=(7.0, 0.9 + 0.29 * (len(races) + len(summaries))))
    looks = [{"mfc": plots.COLORS["layer"]}, {"mfc": "white"}]
    common = {"color": plots.COLORS["layer"], "lw": 1.6, "marker": "o", "ms": 6}
    for y, pair in enumerate(races.values()):
        for found, look, shift in zip(pair, looks, (-0.13, 0.13), strict=True):
            ax.plot([found.low, found.high], [y + shift] * 2, color=plots.COLORS["layer"], lw=1.6)
            ax.plot(found.value, y + shift, **(common | look))
    for y, (mean, look) in enumerate(zip(summaries.values(), looks, strict=True), start=len(races)):
        ax.plot([mean.next_low, mean.next_high], [y, y], color=plots.COLORS["none"], lw=7, alpha=0.5)
        ax.plot([mean.low, mean.high], [y, y], color=plots.INK, lw=1.8)
        ax.plot(mean.value, y, **(common | look | {"color": plots.INK, "marker": "D"}))
    ax.axvline(1, color=plots.INK, lw=1)
    ax.set(xscale="log", xlabel="updates without a norm over those with layer norm", xlim=(0.24, 4.2))
    names = [titles[section] for section in races] + [f"mean, {name}" for name in summaries]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    on.exactly(ax.xaxis, [0.25, 0.5, 0.7, 1, 1.4, 2, 4])
    return fig
