"""Section 1, measured: does batch norm's speed-up need a clever optimizer, or is it there with plain SGD?

The network of `lnbook.shared.permutation_mnist`, two hidden layers of 100 units, trained without momentum at
batch size 128, once without a norm and once with batch norm, each at several step sizes.
"""

from itertools import product
from typing import Any

import numpy as np

from lnbook.shared import curves
from lnbook.training import Job

__all__ = ["BATCH", "SIZES", "best_rate", "factors", "jobs"]

BATCH, RATES = 128, (0.1, 0.3, 1.0)
SIZES = {"smoke": (2, 60), "book": (5, 200), "study": (10, 200)}  # seeds, updates


def jobs(scale: str, seed: int) -> list[Job]:
    """The runs of both methods at each step size, for `lnbook.training.runs.run`.

    >>> len(jobs("book", 0)), jobs("book", 0)[0]["optimizer"]
    (30, 'sgd')
    """
    seeds, updates = SIZES[scale]
    common: dict[str, Any] = {"batch_size": BATCH, "updates": updates, "rows": 20, "quick": 1000}
    common |= {"whole": False, "optimizer": "sgd", "units": 100}
    return [
        {"norm": norm, **common, "rate": rate, "seed": seed + k}
        for k, norm, rate in product(range(seeds), ("none", "batch"), RATES)
    ]


def best_rate(rows: curves.Rows, norm: str) -> float:
    """The step size of the lowest training loss: the mean over the last quarter of training and the seeds.

    One at which a run diverges is never the best.
    """
    losses = {r: curves.seeds_of(rows, norm, BATCH, "train_loss", rate=r) for r in RATES}
    whole = np.max([each.shape for each in losses.values()], axis=0)
    found = {
        r: float(np.nan_to_num(each[:, -(whole[1] // 4) :].mean(), nan=np.inf))
        for r, each in losses.items()
        if (each.shape == whole).all()
    }
    return min(found, key=lambda rate: found[rate])


def factors(rows: curves.Rows) -> list[float]:
    r"""Updates without norm over updates with batch norm to the same test error, for each seed.

    The error is that of the run without norm half-way through its training. Either method is at its
    `best_rate`. 0 where batch norm never gets there.
    """
    none, batch = (curves.runs_of(rows, n, BATCH, rate=best_rate(rows, n)) for n in ("none", "batch"))
    found = []
    for seed, run in none.items():
        to_goal = curves.reached(float(run["test_error"].iloc[len(run) // 2]), "test_error")
        found.append(curves.quotient(to_goal(run), to_goal(batch[seed])))
    return found
