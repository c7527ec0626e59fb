"""The timeline, a row for each work and years along the other axis."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.pages.beyond_timeline.works import families

COLORS = {
    "Over the batch": "batch",
    "On the weights": "weight",
    "Over one case": "layer",
    "Without the mean": "rms",
    "No normalization": "none",
}
ROW = 0.215  # inches
YEARS = (1990, 2027)


def timeline(works: Iterable[Any]) -> Figure:
    """Each work at its year, in a row of its own, under the name of its family; a line at 2016."""
    rows: list[tuple[str, Any]] = []
    for family, members in families(works).items():
        rows += [(family, None), *((work.name, work) for work in members)]
    fig, ax = plots.subplots(figsize=(4.6, ROW * len(rows) + 0.5))
    ax.axvline(2016, color=plots.COLORS["layer"], lw=1)
    for row, (_, work) in enumerate(rows):
        if work:
            color = plots.COLORS[COLORS[work.family]] if work.family in COLORS else plots.INK
            ax.plot(work.year, row, "o", ms=5.5, color=color)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows], size=9.5)
    for label, (_, work) in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_weight("normal" if work else "bold")
    ax.set(xlim=YEARS, ylim=(len(rows) - 0.4, -0.6), xticks=range(1990, 2027, 10))
    ax.tick_params(top=True, labeltop=True)
    ax.tick_params(axis="y", length=0)
    return fig
