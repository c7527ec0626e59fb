"""Section 6.3's picture: what is read from the vectors, against updates."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.shared.learning_curves import Curve, lines

TITLES = {  # of what Figure 3 shows, by the columns of the rows
    "sick_pearson": "SICK (Pearson)",
    "mr_accuracy": "MR",
    "cr_accuracy": "CR",
    "subj_accuracy": "SUBJ",
    "pros_cons_accuracy": "pros and cons",
}


def scores(curves: Mapping[str, Mapping[str, Curve]], untrained: Mapping[str, Mapping[str, float]]) -> Figure:
    """One panel per column of `TITLES`: its score against updates, flat lines for "bag" and "random"."""
    fig, grid = plots.subplots(2, 3, figsize=(7.2, 3.6))
    axes = grid.flatten()
    for ax, (column, found) in zip(axes, curves.items(), strict=False):
        lines(ax, found.items())
        for kind, label, line in (("bag", "bag of words", "-"), ("random", "random encoder", ":")):
            ax.axhline(untrained[kind][column], color=plots.INK, linewidth=1.1, linestyle=line, label=label)
        ax.set(title=TITLES[column] + ("" if column.startswith("sick") else " (%)"))
        ax.margins(y=0.12)
    for ax in axes[2:5]:  # with nothing below
        ax.set_xlabel("updates")
    axes[-1].set_axis_off()
    axes[-1].legend(*axes[0].get_legend_handles_labels(), loc="center")
    return fig
