"""Reading learning curves: all seeds of one method, their mean with its interval, the time to a goal.

The rows are those of `lnlib.training.runs.run`, with the columns `norm`, `batch_size` and `seed` among their
jobs' settings; or those that such a run has stored (`stored`).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from lnlib.intervals import interval
from lnlib.rows import book_dir, read_rows
from lnlib.training import Row

__all__ = ["band", "late_error", "seeds_of", "stored", "updates_to"]


def stored(experiment: str, *, folder: Path | None = None) -> tuple[list[Row], dict[str, Any]]:
    """The rows of an experiment as stored at paper scale, numbers as numbers, and how they came about.

    Args:
        experiment: its name in `lnlib.experiments.registry`.
        folder: holds `paper/<experiment>.csv` and `.json`; default: the checkout's `book/results`.

    Raises FileNotFoundError where there are none.
    """
    place = folder or (book_dir() or Path("book")) / "results"
    rows = read_rows(experiment, scale="paper", folder=place)
    facts = json.loads((place / "paper" / f"{experiment}.json").read_text(encoding="utf-8"))
    return [{key: _number(text) for key, text in row.items()} for row in rows], facts


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def seeds_of(
    rows: Sequence[Row], norm: str, batch_size: int, key: str, *, selected: int = 0, **also: Any
) -> Float[np.ndarray, "seeds times"]:
    """One column of the rows of a method: a line a seed, a column a measurement, the first before training.

    Args:
        rows: of runs of equal length.
        norm, batch_size, also: settings of the runs.
        key: the column.
        selected: 1 for the model that the validation cases chose, one column.

    Raises ValueError if there is no such run.
    """
    wanted = {"norm": norm, "batch_size": batch_size, **also}
    chosen = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    if not chosen:
        known = sorted({tuple(r[k] for k in wanted) for r in rows})
        raise ValueError(f"no run with {wanted}; there are {known}")
    chosen = [r for r in chosen if r.get("selected", 0) == selected]
    seeds = sorted({r["seed"] for r in chosen})
    return np.array([[r[key] for r in chosen if r["seed"] == seed] for seed in seeds], dtype=float)


def band(
    rows: Sequence[Row], norm: str, batch_size: int, key: str, factor: float = 1.0, **also: Any
) -> dict[str, np.ndarray]:
    """A curve to draw: `update`, and `mean`, `low`, `high` of `factor` times the key over seeds (95 %).

    The measurement before training is left out; `also` as in `seeds_of`.
    """
    values = factor * seeds_of(rows, norm, batch_size, key, **also)[:, 1:]
    mean, low, high = np.array([interval(column) for column in values.T]).T
    updates = seeds_of(rows, norm, batch_size, "update", **also)[0, 1:]
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
