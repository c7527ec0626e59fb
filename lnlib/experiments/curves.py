"""Reading learning curves: all seeds of one method, their mean with its interval, the time to a goal.

The rows are those of `lnlib.training.fit` with the columns `norm`, `batch_size` and `seed`, as
`lnlib.experiments.permutation_mnist.learning_curves` returns them.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from lnlib.intervals import interval
from lnlib.training import Row

__all__ = ["band", "late_error", "seeds_of", "updates_to"]


def seeds_of(rows: Sequence[Row], norm: str, batch_size: int, key: str) -> Float[np.ndarray, "seeds times"]:
    """One column of the rows of a method: a line a seed, a column a measurement, the first before training.

    Raises ValueError if there is no such run.
    """
    chosen = [r for r in rows if (r["norm"], r["batch_size"]) == (norm, batch_size)]
    if not chosen:
        known = sorted({(r["norm"], r["batch_size"]) for r in rows})
        raise ValueError(f"no run with norm {norm!r} and batch size {batch_size}; there are {known}")
    seeds = sorted({r["seed"] for r in chosen})
    return np.array([[r[key] for r in chosen if r["seed"] == seed] for seed in seeds], dtype=float)


def band(
    rows: Sequence[Row], norm: str, batch_size: int, key: str, factor: float = 1.0
) -> dict[str, np.ndarray]:
    """A curve to draw: `update`, and `mean`, `low`, `high` of `factor` times the key over seeds (95 %).

    The measurement before training is left out.
    """
    values = factor * seeds_of(rows, norm, batch_size, key)[:, 1:]
    mean, low, high = np.array([interval(column) for column in values.T]).T
    updates = seeds_of(rows, norm, batch_size, "update")[0, 1:]
    return {"update": updates, "mean": mean, "low": low, "high": high}


def late_error(rows: Sequence[Row], norm: str, batch_size: int) -> Float[np.ndarray, " seeds"]:
    """Geometric mean of the test error over the second half of training, for each seed.

    One measurement of a network that trains in small batches is luck; several are less so.
    """
    errors = seeds_of(rows, norm, batch_size, "test_error")
    return np.exp(np.log(errors[:, errors.shape[1] // 2 + 1 :]).mean(axis=1))


def updates_to(goal: float, errors: Sequence[float], updates: Sequence[float]) -> float:
    """The update at which an error first falls to a goal, by straight lines between measurements.

    Raises ValueError if it never does.

    >>> updates_to(0.3, [0.9, 0.5, 0.1], [0, 10, 20])
    15.0
    """
    k = next((k for k, error in enumerate(errors) if error <= goal), None)
    if k is None:
        raise ValueError(f"the error never falls to {goal}; its lowest value is {min(errors)}")
    if k == 0:
        return float(updates[0])
    part = (errors[k - 1] - goal) / (errors[k - 1] - errors[k])
    return float(updates[k - 1] + part * (updates[k] - updates[k - 1]))
