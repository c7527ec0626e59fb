"""Who is ahead in runs of DRAW: last bounds, and the updates to a common one.

Rows are those of `lnbook.pages.sec6_4_draw.experiment`, of one study.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lnbook.pages.sec6_4_draw.experiment import NORMS
from lnbook.shared.curves import quotient, reached, runs_of
from lnbook.training import Row

__all__ = ["alike", "ends", "gains", "lines", "speed_ups"]


def alike(rows: Sequence[Row]) -> list[Row]:
    """The rows measured on the cases of the first.

    A study's `quick` rows are of a few cases and the last of all of them, which may be easier or harder: on a
    curve that mixes the two, a goal that the last row sets is met too early or too late.
    """
    return [row for row in rows if row["test_cases"] == rows[0]["test_cases"]]


def _runs(rows: Sequence[Row], norm: str) -> dict[int, pd.DataFrame]:
    return runs_of(rows, norm, rows[0]["batch_size"])


def ends(rows: Sequence[Row], norm: str) -> dict[int, float]:
    """The last test bound of each seed's run, in nats."""
    return {seed: float(run["test_bound"].iloc[-1]) for seed, run in _runs(rows, norm).items()}


def gains(rows: Sequence[Row]) -> dict[int, float]:
    """Nats that layer norm is ahead of no norm in the end, for the seeds that both have."""
    without, layer = (ends(rows, norm) for norm in NORMS)
    return {seed: without[seed] - layer[seed] for seed in without if seed in layer}


def speed_ups(rows: Sequence[Row]) -> dict[int, float]:
    """Updates of the baseline over those that layer norm takes to the baseline's last test bound.

    Of the rows measured `alike`, by straight lines between them; 0 if layer norm never gets there, NaN if
    it begins there.
    """
    without, layer = (_runs(alike(rows), norm) for norm in NORMS)
    found = {}
    for seed in sorted(without.keys() & layer.keys()):
        update, bound = without[seed][["update", "test_bound"]].to_numpy(dtype=float)[-1]
        found[seed] = quotient(update, reached(bound, "test_bound")(layer[seed]))
    return found


def lines(rows: Sequence[Row]) -> list[tuple[str, dict[str, np.ndarray]]]:
    """For each run its norm, and its curve after the first row: `update`, and `mean`, the test bound."""
    found = []
    for norm in NORMS:
        for run in _runs(rows, norm).values():
            update, mean = run[["update", "test_bound"]][1:].to_numpy(dtype=float).T
            found.append((norm, {"update": update, "mean": mean}))
    return found
