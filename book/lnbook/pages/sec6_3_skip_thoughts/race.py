"""Who is ahead in runs of skip-thoughts: updates and seconds to a loss, and what is read in the end.

Rows are those of `lnbook.pages.sec6_3_skip_thoughts.experiment`; runs that differ in their initial
weights or their decoders do not mix. Where nothing is said, decoders are those of the code that the paper
used.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lnbook.pages.sec6_3_skip_thoughts.experiment import BASELINES, NORMS
from lnbook.pages.sec6_3_skip_thoughts.model import DECODERS
from lnbook.shared.curves import band, quotient, runs_of, updates_to
from lnbook.training import Row

__all__ = [
    "COLUMNS",
    "LOSS",
    "SICK",
    "averages",
    "decoders",
    "ends",
    "gains",
    "losses",
    "mean_gains",
    "mean_scores",
    "scores",
    "speed_ups",
    "tracks",
]

Bands = dict[str, dict[str, dict[str, np.ndarray]]]

LOSS = "valid_nats_per_word"
COLUMNS = {  # Figure 3's and Table 3's, by the names of the tasks
    "sick": "sick_pearson",
    "mr": "mr_accuracy",
    "cr": "cr_accuracy",
    "subj": "subj_accuracy",
    "pros_cons": "pros_cons_accuracy",
}
SICK = ("sick_pearson", "sick_spearman", "sick_mse")  # Table 3's three numbers of one set


def _runs(
    rows: Sequence[Row], norm: str, initial: str = "scaled", decoder: str = "code"
) -> dict[int, pd.DataFrame]:
    return runs_of(rows, norm, rows[0]["batch_size"], initial=initial, decoder=decoder)


def speed_ups(rows: Sequence[Row], *, initial: str = "scaled", axis: str = "update") -> dict[int, float]:
    """What the baseline spends over what layer norm spends, to the lowest validation loss that both reach.

    By straight lines between measurements, for the seeds that both have; NaN if a run is best untrained.

    Args:
        rows: of runs with both norms.
        initial: weights of the runs to compare.
        axis: what is spent: "update", or "seconds" of training.
    """
    without, layer = (_runs(rows, norm, initial) for norm in NORMS)
    found = {}
    for seed in sorted(without.keys() & layer.keys()):
        pair = without[seed], layer[seed]
        goal = max(run[LOSS].min() for run in pair)
        found[seed] = quotient(*(updates_to(goal, run[LOSS], run[axis]) for run in pair))
    return found


def ends(
    rows: Sequence[Row],
    norm: str,
    column: str,
    *,
    initial: str = "scaled",
    decoder: str = "code",
    row: int = -1,
) -> dict[int, float]:
    """A column of the last row, or of another, of each seed's run."""
    return {seed: float(run[column].iloc[row]) for seed, run in _runs(rows, norm, initial, decoder).items()}


def gains(rows: Sequence[Row], column: str) -> dict[int, float]:
    """Layer norm's last score less the baseline's, by seed.

    Args:
        rows: of runs with both norms.
        column: an accuracy, whose gain is in points, or one of `SICK`.
    """
    factor = 1.0 if column in SICK else 100.0
    without, layer = (ends(rows, norm, column) for norm in NORMS)
    return {seed: factor * (layer[seed] - without[seed]) for seed in without if seed in layer}


def mean_gains(rows: Sequence[Row]) -> dict[int, float]:
    """Layer norm's `mean_scores` less the baseline's, by seed, in points."""
    without, layer = (mean_scores(rows, norm) for norm in NORMS)
    return {seed: layer[seed] - without[seed] for seed in without if seed in layer}


def decoders(rows: Sequence[Row]) -> dict[str, dict[int, float]]:
    """By seed, the scores with the code's decoder less those with the article's, without a norm.

    *Source* Table 3, whose rows Ours and Original differ so.

    Args:
        rows: of runs with both decoders.

    Returns:
        "accuracy": `mean_scores`, in points; "sick": Pearson's r.
    """
    pairs = {
        "accuracy": [mean_scores(rows, "none", decoder=decoder) for decoder in DECODERS],
        "sick": [ends(rows, "none", COLUMNS["sick"], decoder=decoder) for decoder in DECODERS],
    }
    return {
        name: {seed: code[seed] - article[seed] for seed in article if seed in code}
        for name, (article, code) in pairs.items()
    }


def scores(rows: Sequence[Row], kind: str) -> dict[str, float]:
    """The mean last score on each task of what needs no training, over all runs: "bag" or "random"."""
    last = pd.concat(run.tail(1) for norm in NORMS for run in _runs(rows, norm).values())
    return {task: float(np.mean(last[f"{kind}_{column}"])) for task, column in COLUMNS.items()}


def mean_scores(rows: Sequence[Row], norm: str, kind: str = "", *, decoder: str = "code") -> dict[int, float]:
    """The mean accuracy in percent over the four sets with two classes at the end, by seed.

    Args:
        rows: of the runs.
        norm, decoder: of the runs.
        kind: "" for their own encoders; "untrained", "random" or "bag".
    """
    columns = [f"{kind}_{c}" if kind else c for task, c in COLUMNS.items() if task != "sick"]
    values = [ends(rows, norm, column, decoder=decoder) for column in columns]
    return {seed: 100 * float(np.mean([value[seed] for value in values])) for seed in values[0]}


def averages(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """`mean_scores` averaged over seeds: by norm, and by kind, of which "" is the trained encoder."""
    return {
        (norm, kind): float(np.mean(list(mean_scores(rows, norm, kind).values())))
        for norm in NORMS
        for kind in ("", *BASELINES)
    }


def losses(rows: Sequence[Row]) -> Bands:
    """The validation loss to draw: by initial weights, then by norm."""
    initials = dict.fromkeys(row["initial"] for row in rows)
    return {
        initial: {
            n: band(rows, n, rows[0]["batch_size"], LOSS, initial=initial, decoder="code") for n in NORMS
        }
        for initial in initials
    }


def tracks(rows: Sequence[Row]) -> Bands:
    """The scores to draw: by task, then by norm."""
    size = rows[0]["batch_size"]
    return {
        task: {n: band(rows, n, size, column, initial="scaled", decoder="code") for n in NORMS}
        for task, column in COLUMNS.items()
    }
