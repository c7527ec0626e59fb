"""Who is ahead in runs of handwriting: lowest test losses, and the time to a common one.

Rows are those of `lnlib.experiments.handwriting`, of one study.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lnlib.experiments.curves import runs_of
from lnlib.experiments.handwriting import NORMS
from lnlib.training import Row

__all__ = ["first_at", "gaps", "lines", "speed_ups", "study_of"]

KEY = "test_nats"


def study_of(rows: Sequence[Row], **settings: Any) -> list[Row]:
    """The rows with these settings."""
    return [row for row in rows if all(row[key] == value for key, value in settings.items())]


def first_at(run: Sequence[Row], goal: float, clock: str = "update") -> float:
    """When a run's test loss first falls to a goal, by straight lines between rows; infinite if never.

    >>> run = [{"update": 0, "test_nats": 9.0}, {"update": 10, "test_nats": 5.0}]
    >>> first_at(run, 6.0), first_at(run, 4.0)
    (7.5, inf)
    """
    for before, row in pairwise(run):
        if row[KEY] <= goal:
            part = min(1.0, (before[KEY] - goal) / (before[KEY] - row[KEY]))
            return float(before[clock] + part * (row[clock] - before[clock]))
    return float("inf")


def speed_ups(rows: Sequence[Row], clock: str = "update", *, leader: Sequence[Row] = ()) -> dict[int, float]:
    """By seed, the baseline's time to its lowest test loss, over layer norm's to the same loss.

    0 if layer norm never gets there.

    Args:
        rows: of the baseline and, unless given by themselves, of layer norm.
        clock: "update" or "seconds".
        leader: the rows of layer norm, where they are another study's.
    """
    plain, layer = (_runs(found, norm) for found, norm in zip((rows, leader or rows), NORMS, strict=True))
    found = {}
    for seed in sorted(plain.keys() & layer.keys()):
        goal = min(row[KEY] for row in plain[seed])
        found[seed] = first_at(plain[seed], goal, clock) / first_at(layer[seed], goal, clock)
    return found


def gaps(rows: Sequence[Row]) -> dict[int, float]:
    """By seed, how far apart the two lowest test losses are, as a share of the baseline's fall to its own."""
    plain, layer = (_runs(rows, norm) for norm in NORMS)
    found = {}
    for seed in sorted(plain.keys() & layer.keys()):
        low = min(row[KEY] for row in plain[seed])
        apart = low - min(row[KEY] for row in layer[seed])
        found[seed] = abs(apart) / (plain[seed][0][KEY] - low)
    return found


def lines(rows: Sequence[Row]) -> list[tuple[str, dict[str, np.ndarray]]]:
    """For each run its norm, and its curve after the first row: `update`, and `mean`, the test loss."""
    found = []
    for norm in NORMS:
        for run in _runs(rows, norm).values():
            update, mean = np.array([(row["update"], row[KEY]) for row in run[1:]], dtype=float).T
            found.append((norm, {"update": update, "mean": mean}))
    return found


def _runs(rows: Sequence[Row], norm: str) -> dict[int, list[Row]]:
    return runs_of(rows, norm, rows[0]["batch_size"])
