"""Section 6.6's learning curves, and its tables of means."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook import curves
from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.shared import learning_curves
from lnbook.shared.learning_curves import Curve
from lnbook.shared.permutation_mnist import EXPERIMENT
from lnbook.training.runs import run

LABELS = learning_curves.LABELS | {
    "rms": "RMS norm",
    "weight": "weight norm",
    "batch, hidden only": "batch norm, not on logits",
    "layer, logits too": "layer norm, logits too",
}
CASES = 55_000  # of training


def live(scale: str, seed: int) -> pd.DataFrame:
    """Measurements of one run of each network at batches of 128."""
    jobs = [j for j in EXPERIMENT.jobs(scale, seed) if j["batch_size"] == 128 and j["seed"] == seed]
    outcomes = run(EXPERIMENT, scale, jobs=jobs, processes=1)
    return curves.runs([row for outcome in outcomes for row in outcome.rows])


def means(columns: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A table to show: a row a norm, in a column the mean over seeds of what `curves.per_seed` found."""
    table = {title: {n: curves.mean_of(found[n]) for n in found} for title, found in columns.items()}
    return pd.DataFrame({k: {LABELS[n]: f"{m:.3g}" for n, m in row.items()} for k, row in table.items()})


def panel(runs: pd.DataFrame) -> dict[str, dict[str, Curve]]:
    """A column of `learning`."""
    loss = curves.band(runs, "train_loss", geometric=True)
    return {"train_loss": loss, "test_error": curves.band(runs, "test_error", 100)}


def learning(panels: Mapping[int, Mapping[str, Mapping[str, Curve]]]) -> Figure:
    """Training loss above, test error below, against epochs: a column per batch size."""
    fig, axes = plots.subplots(2, len(panels), figsize=(7.2, 3.6), squeeze=False, sharey="row")
    for (batch_size, columns), (above, below) in zip(panels.items(), axes.T, strict=True):
        for ax, key in ((above, "train_loss"), (below, "test_error")):
            for norm, curve in columns[key].items():
                _band(ax, norm, curve, batch_size / CASES)
            means = [curve["mean"] for by_column in panels.values() for curve in by_column[key].values()]
            drawn = np.concatenate(means)  # not the intervals: those of few seeds would leave no room
            ax.set(yscale="log", xlim=(0, None), ylim=(np.nanmin(drawn) / 1.5, 1.5 * np.nanmax(drawn)))
        above.set(title=f"batch of {batch_size}")
        below.set(xlabel="epochs")
        low, high = below.get_ylim()
        on.exactly(below.yaxis, [tick for tick in (1, 2, 3, 5, 10, 20, 50, 100) if low < tick < high])
    axes[0, 0].set_ylabel("train. NLL (nats)")
    axes[1, 0].set_ylabel("test error (%)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def first_epoch(found: Mapping[str, Curve], floor: tuple[Sequence[float], Sequence[float]]) -> Figure:
    """Training loss in the first epoch, and below which line normalized logits cannot bring it."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    ax.fill_between(*floor, 1e-3, color=plots.COLORS["none"], alpha=0.25, linewidth=0)
    for norm, curve in found.items():
        _band(ax, norm, curve)
    highest = max(max(curve["mean"]) for curve in found.values())
    ax.set(xlabel="updates", ylabel="training NLL (nats)", yscale="log", ylim=(0.06, 1.3 * highest))
    on.exactly(ax.yaxis, [tick for tick in (0.1, 0.2, 0.5, 1, 2) if tick < 1.3 * highest])
    place = int(0.3 * len(floor[0]))
    ax.annotate("out of reach of normalized logits", (floor[0][place], 0.07))
    fig.legend(loc="outside upper center", ncols=3)
    return fig


def _band(ax: Axes, norm: str, curve: Curve, epochs: float = 1) -> None:
    """A curve over its updates, times the epochs that an update is."""
    base = norm.split(",")[0]
    color, at = plots.COLORS[base], epochs * np.asarray(curve["update"])
    # one that exchanges the logits is dotted, in its family's color
    look = {"ls": plots.LINES[base], "lw": 1.8} if base == norm else {"ls": (0, (1, 1)), "lw": 2.4}
    ax.plot(at, curve["mean"], color=color, label=LABELS[norm], **look)
    if "low" in curve:
        ax.fill_between(at, curve["low"], curve["high"], color=color, alpha=0.2, linewidth=0)
