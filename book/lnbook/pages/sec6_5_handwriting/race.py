"""Who is ahead in runs of handwriting: the loss on people never seen, the time to nine tenths of its fall.

Rows are those of `lnbook.pages.sec6_5_handwriting.experiment`, of one study. The validation and the test
people are both unseen: the loss is the mean of theirs.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import nan
from typing import Any

import numpy as np

from lnbook.pages.sec6_5_handwriting.experiment import NORMS
from lnbook.shared import curves
from lnbook.shared.curves import runs_of
from lnbook.training import Row

__all__ = ["SHARE", "first_at", "flat", "fresh", "gaps", "lines", "speed_ups", "spoken", "study_of", "unseen"]

Line = tuple[str, dict[str, np.ndarray]]  # a norm, and a curve
SHARE = 0.9  # of the baseline's fall: at its very end luck decides who is first


def unseen(row: Row) -> float:
    """The loss on people never seen, in nats a line."""
    return float(row["valid_nats"] + row["test_nats"]) / 2


def fresh(row: Row) -> float:
    """The loss on the lines of training, each met for the first time; nats over the longest line."""
    return float(row["train_loss"])


def study_of(rows: Sequence[Row], **settings: Any) -> list[Row]:
    """The rows with these settings."""
    return [row for row in rows if all(row[key] == value for key, value in settings.items())]


def first_at(run: Sequence[Row], goal: float, clock: str = "update") -> float:
    """When a run's loss first falls to a goal, by straight lines between rows; infinite if it never does.

    >>> run = [{"update": 10 * k, "valid_nats": loss, "test_nats": loss} for k, loss in enumerate((9.0, 5.0))]
    >>> first_at(run, 6.0), first_at(run, 4.0)
    (7.5, inf)
    """
    if unseen(run[0]) <= goal:
        return float(run[0][clock])
    for before, row in pairwise(run):
        if unseen(row) <= goal:
            part = min(1.0, (unseen(before) - goal) / (unseen(before) - unseen(row)))
            return float(before[clock] + part * (row[clock] - before[clock]))
    return float("inf")


def speed_ups(
    rows: Sequence[Row], clock: str = "update", *, leader: Sequence[Row] = (), share: float = SHARE
) -> dict[int, float]:
    """By seed, the baseline's time to a share of its whole fall, over layer norm's to the same loss.

    0 if layer norm never gets there, NaN if there is no fall or a run begins at its end.

    Args:
        rows: of the baseline and, unless given by themselves, of layer norm.
        clock: "update" or "seconds".
        leader: the rows of layer norm, where they are another study's.
        share: of the way from the untrained baseline's loss to its lowest.
    """
    plain, layer = (_runs(found, norm) for found, norm in zip((rows, leader or rows), NORMS, strict=True))
    found = {}
    for seed in sorted(plain.keys() & layer.keys()):
        start = unseen(plain[seed][0])
        goal = start - share * (start - min(map(unseen, plain[seed])))
        times = (first_at(runs[seed], goal, clock) for runs in (plain, layer))
        found[seed] = curves.quotient(*times)
    return found


def gaps(rows: Sequence[Row]) -> dict[int, float]:
    """By seed, how far apart the two lowest losses are, as a share of the baseline's fall; NaN if none."""
    plain, layer = (_runs(rows, norm) for norm in NORMS)
    found = {}
    for seed in sorted(plain.keys() & layer.keys()):
        low = min(map(unseen, plain[seed]))
        apart = low - min(map(unseen, layer[seed]))
        fall = unseen(plain[seed][0]) - low
        found[seed] = abs(apart) / fall if fall else nan
    return found


def lines(rows: Sequence[Row], loss: Callable[[Row], float] = unseen) -> list[Line]:
    """For each run its norm, and its curve after the first row: `update`, and `mean`, the loss."""
    found = []
    for norm in NORMS:
        for run in _runs(rows, norm).values():
            update, mean = np.array([(row["update"], loss(row)) for row in run[1:]], dtype=float).T
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


def _runs(rows: Sequence[Row], norm: str) -> dict[int, list[Row]]:
    return runs_of(rows, norm, rows[0]["batch_size"])
