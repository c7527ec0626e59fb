"""Section 6.3's picture: what is read from the vectors, against updates."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.shared.learning_curves import lines

Bands = Mapping[str, pd.DataFrame]  # by norm, as `lnbook.curves.band` makes them

TITLES = {  # of what Figure 3 shows, by the columns of the rows
    "sick_pearson": "SICK (Pearson)",
    "mr_accuracy": "MR",
    "cr_accuracy": "CR",
    "subj_accuracy": "SUBJ",
    "pros_cons_accuracy": "pros and cons",
}
WITHOUT = {"bag": ("bag of words", "-"), "random": ("random encoder", ":")}


def scores(curves: Mapping[str, Bands], untrained: Mapping[str, Mapping[str, float]]) -> Figure:
    """One panel per task: its score against updates for each norm, and flat lines for what needs no training.

    Curves are by a column of `TITLES`, accuracies in percent; what needs no training by "bag" and "random".
    """
    fig, grid = plots.subplots(2, 3, figsize=(7.2, 3.6))
    axes = grid.flatten()
    for ax, (column, found) in zip(axes, curves.items(), strict=False):
        lines(ax, found.items())
        for kind, (label, line) in WITHOUT.items():
            ax.axhline(untrained[kind][column], color=plots.INK, linewidth=1.1, linestyle=line, label=label)
        ax.set(title=TITLES[column] + ("" if column.startswith("sick") else " (%)"))
        ax.margins(y=0.12)
    for ax in axes[2:5]:  # with nothing below
        ax.set_xlabel("updates")
    axes[-1].set_axis_off()
    axes[-1].legend(*axes[0].get_legend_handles_labels(), loc="center")
    return fig
