"""Who is ahead in runs of the attentive reader: late errors, and updates and seconds to a common one.

Rows are those of `lnbook.pages.sec6_2_attentive_reader.experiment`, of one study.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lnbook.pages.sec6_2_attentive_reader.experiment import Kind
from lnbook.shared.curves import band, quotient, runs_of, updates_to
from lnbook.training import Row

__all__ = ["curve", "differences", "late", "late_error", "level", "speed_ups", "times"]


def _runs(rows: Sequence[Row], kind: Kind) -> dict[int, pd.DataFrame]:
    norm, gain, start = kind
    return runs_of(rows, norm, rows[0]["batch_size"], gain=gain, start=start)


def late_error(run: pd.DataFrame, share: float = 0.25) -> float:
    """The mean validation error over the last quarter, or another share, of a run.

    One measurement on a few hundred questions is luck; several are less so.
    """
    return float(np.mean(run["valid_error"].tail(max(1, round(share * len(run))))))


def late(rows: Sequence[Row], kind: Kind, share: float = 0.25) -> dict[int, float]:
    """The `late_error` of each seed's run."""
    return {seed: late_error(run, share) for seed, run in _runs(rows, kind).items()}


def level(rows: Sequence[Row], kind: Kind) -> float:
    """The late error of a kind in percent, mean over seeds."""
    return 100 * float(np.mean(list(late(rows, kind).values())))


def differences(rows: Sequence[Row], above: Kind, below: Kind, share: float = 0.25) -> dict[int, float]:
    """Late errors of one kind less those of another, in percentage points, for the seeds that both have."""
    one, other = (late(rows, kind, share) for kind in (above, below))
    return {seed: 100 * (one[seed] - other[seed]) for seed in one if seed in other}


def times(
    rows: Sequence[Row], kind: Kind, goals: dict[int, float], column: str = "update"
) -> dict[int, float]:
    """The update, or the second of training, at which each seed's error first falls to its goal.

    By straight lines between measurements; infinite if it never does. Seeds without a goal are left out.
    """
    found = {}
    for seed, run in _runs(rows, kind).items():
        if seed in goals:
            errors = run["valid_error"]
            reached = errors.min() <= goals[seed]
            found[seed] = updates_to(goals[seed], errors, run[column]) if reached else np.inf
    return found


def speed_ups(rows: Sequence[Row], slow: Kind, fast: Kind, column: str = "update") -> dict[int, float]:
    """Updates, or seconds, of one kind over those of another to the late error of the first.

    0 if the other never gets there, NaN if one begins there.
    """
    goals = late(rows, slow)
    one, other = (times(rows, kind, goals, column) for kind in (slow, fast))
    return {seed: quotient(one[seed], other[seed]) for seed in one if seed in other}


def curve(rows: Sequence[Row], kind: Kind) -> dict[str, np.ndarray]:
    """The validation error against updates in percent: mean and 95 % interval over seeds."""
    norm, gain, start = kind
    return band(rows, norm, rows[0]["batch_size"], "valid_error", 100, gain=gain, start=start)
