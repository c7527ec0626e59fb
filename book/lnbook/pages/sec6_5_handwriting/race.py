"""Who is ahead in runs of handwriting: the loss on people never seen, the time to nine tenths of its fall.

Rows are those of `lnbook.pages.sec6_5_handwriting.experiment`, of one study. The validation and the test
people are both unseen: the loss is the mean of theirs.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf, nan

import numpy as np
import pandas as pd

from lnbook.pages.sec6_5_handwriting.experiment import NORMS
from lnbook.shared import curves
from lnbook.shared.curves import runs_of, updates_to
from lnbook.training import Row

__all__ = ["SHARE", "first_at", "flat", "fresh", "gaps", "lines", "speed_ups", "spoken", "unseen"]

Line = tuple[str, dict[str, np.ndarray]]  # a norm, and a curve
SHARE = 0.9  # of the baseline's fall: at its very end luck decides who is first


def unseen(run: pd.DataFrame) -> pd.Series:
    """The loss on people never seen, in nats per line."""
    return (run["valid_nats"] + run["test_nats"]) / 2


def fresh(run: pd.DataFrame) -> pd.Series:
    """The loss on the lines of training, each met for the first time; nats over the longest line."""
    return run["train_loss"]


def first_at(run: pd.DataFrame, goal: float, clock: str = "update") -> float:
    """When a run's loss first falls to a goal, by straight lines between rows; infinite if it never does.

    >>> run = pd.DataFrame({"update": [0, 10], "valid_nats": [9.0, 5.0], "test_nats": [9.0, 5.0]})
    >>> first_at(run, 6.0), first_at(run, 4.0)
    (7.5, inf)
    """
    losses = unseen(run)
    return updates_to(goal, losses, run[clock]) if losses.min() <= goal else inf


def speed_ups(rows: Sequence[Row], clock: str = "update", *, share: float = SHARE) -> dict[int, float]:
    """By seed, the baseline's time to a share of its whole fall, over layer norm's to the same loss.

    0 if layer norm never gets there, NaN if there is no fall or a run begins at its end.

    Args:
        rows: of both networks.
        clock: "update" or "seconds".
        share: of the way from the untrained baseline's loss to its lowest.
    """
    plain, layer = (_runs(rows, norm) for norm in NORMS)
    found = {}
    for seed in sorted(plain.keys() & layer.keys()):
        losses = unseen(plain[seed])
        goal = losses.iloc[0] - share * (losses.iloc[0] - losses.min())
        times = (first_at(runs[seed], goal, clock) for runs in (plain, layer))
        found[seed] = curves.quotient(*times)
    return found


def gaps(rows: Sequence[Row]) -> dict[int, float]:
    """By seed, layer norm's lowest loss less the baseline's, as a share of its fall; NaN if there is none."""
    plain, layer = (_runs(rows, norm) for norm in NORMS)
    found = {}
    for seed in sorted(plain.keys() & layer.keys()):
        one, other = (unseen(runs[seed]) for runs in (plain, layer))
        fall = one.iloc[0] - one.min()
        found[seed] = (other.min() - one.min()) / fall if fall else nan
    return found


def lines(rows: Sequence[Row], loss: Callable[[pd.DataFrame], pd.Series] = unseen) -> list[Line]:
    """For each run its norm, and its curve after the first row: `update`, and `mean`, the loss."""
    found = []
    for norm in NORMS:
        for run in _runs(rows, norm).values():
            update, mean = (np.array(values[1:], dtype=float) for values in (run["update"], loss(run)))
            found.append((norm, {"update": update, "mean": mean}))
    return found


def flat(panels: Mapping[str, Sequence[Line]]) -> list[Row]:
    """Such lines of several panels as rows."""
    return [
        {"panel": title, **row}
        for title, found in panels.items()
        for norm, curve in found
        for row in curves.flat({norm: curve}, "norm")
    ]


def spoken(panels: Mapping[str, Sequence[Line]]) -> str:
    """Where each line begins and ends, in words.

    >>> spoken({"test": [("layer", {"mean": np.array([9.0, 5.0])})]})
    'test, layer: 9 to 5'
    """
    return "; ".join(
        f"{title}, {norm}: {curve['mean'][0]:.0f} to {curve['mean'][-1]:.0f}"
        for title, found in panels.items()
        for norm, curve in found
    )


def _runs(rows: Sequence[Row], norm: str) -> dict[int, pd.DataFrame]:
    return runs_of(rows, norm, rows[0]["batch_size"])
