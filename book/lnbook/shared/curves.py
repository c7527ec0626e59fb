"""Reading learning curves: all seeds of one method, their mean with its interval, the time to a goal.

The rows are those of `lnbook.training.runs.run`, with the columns `norm`, `batch_size` and `seed` among their
jobs' settings; or those that such a run has stored (`stored`); or a table of either. One run is a table.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import ArrayLike

from lnbook.ledger.intervals import interval
from lnbook.ledger.rows import book_dir, read_facts, read_rows
from lnbook.training import Row

__all__ = [
    "Mean",
    "Rows",
    "band",
    "each",
    "flat",
    "late",
    "late_error",
    "mean_of",
    "near",
    "over",
    "quotient",
    "reached",
    "runs_of",
    "seeds_of",
    "stored",
    "updates_to",
    "with_settings",
]

Rows: TypeAlias = Sequence[Row] | pd.DataFrame


def stored(
    experiment: str, *, scale: str = "study", folder: Path | None = None
) -> tuple[list[Row], dict[str, Any]]:
    """The rows of an experiment as recorded, numbers as numbers, and how they came about.

    Where the runs differ in a fact, such as the commit, it lists all values: "a1b2, c3d4".

    Args:
        experiment: its name in `lnbook.cli.experiments`.
        scale: "study" or "paper".
        folder: holds `<scale>/<experiment>.csv` and `.json`; default: the checkout's `book/results`.

    Raises FileNotFoundError where there are none, ValueError where they are not those recorded.
    """
    place = folder or (book_dir() or Path("book")) / "results"
    rows = read_rows(experiment, scale=scale, folder=place)
    facts = read_facts(experiment, scale=scale, folder=place)
    runs = facts.get("runs", [])
    differ = {name for run in runs for name, value in run.items() if isinstance(value, str)} - facts.keys()
    facts |= {name: ", ".join(sorted({str(run.get(name)) for run in runs})) for name in differ}
    return [{key: _number(text) for key, text in row.items()} for row in rows], facts


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def with_settings(rows: Sequence[Row], **settings: Any) -> list[Row]:
    """The rows with these settings.

    >>> with_settings([{"rate": 0.1, "seed": 0}, {"rate": 0.2, "seed": 0}], rate=0.2)
    [{'rate': 0.2, 'seed': 0}]
    """
    return [row for row in rows if all(row[key] == value for key, value in settings.items())]


def runs_of(
    rows: Rows, norm: str, batch_size: int, *, selected: int = 0, **also: Any
) -> dict[int, pd.DataFrame]:
    """The rows of each seed's run with these settings; none where there is no such run.

    Args:
        rows: of many runs.
        norm, batch_size, also: settings of the runs.
        selected: 1 for the model that the validation cases chose, one row a run.
    """
    found = pd.DataFrame(rows)
    found = found.assign(selected=found.get("selected", 0))
    for key, value in {"norm": norm, "batch_size": batch_size, "selected": selected, **also}.items():
        found = found[found[key] == value]
    runs = {int(seed): run for seed, run in found.groupby("seed")}
    if not selected and (twice := [seed for seed, run in runs.items() if run["update"].duplicated().any()]):
        raise ValueError(
            f"two runs of seed {twice[0]} have norm {norm!r} and batch size {batch_size}; name a setting in "
            "which they differ"
        )
    return runs


def seeds_of(
    rows: Rows, norm: str, batch_size: int, key: str, **also: Any
) -> Float[np.ndarray, "seeds times"]:
    """One column of the rows of a method: one line per seed, one column per measurement.

    The first is before training; `also` as in `runs_of`. A run that ended before the longest is left out.
    Raises ValueError if there is none.
    """
    runs = runs_of(rows, norm, batch_size, **also)
    if not runs:
        wanted = {"norm": norm, "batch_size": batch_size, **also}
        known = pd.DataFrame(rows).reindex(columns=list(wanted)).drop_duplicates()
        raise ValueError(f"no run with {wanted}; there are {known.to_dict('records')}")
    longest = max(map(len, runs.values()))
    return np.array([run[key] for run in runs.values() if len(run) == longest], dtype=float)


def each(
    rows: Rows, measure: Callable[[pd.DataFrame], float], norm: str, batch_size: int, **also: Any
) -> dict[int, float]:
    """A number made of each run's rows, by seed; settings as in `runs_of`."""
    return {seed: measure(run) for seed, run in runs_of(rows, norm, batch_size, **also).items()}


def over(above: Mapping[int, float], below: Mapping[int, float]) -> dict[int, float]:
    """Quotients of two methods' numbers, for the seeds that both have: runs of one seed begin alike.

    >>> over({0: 3.0, 1: 4.0}, {1: 2.0, 2: 5.0})
    {1: 2.0}
    """
    return {seed: quotient(above[seed], below[seed]) for seed in above if seed in below}


def quotient(above: float, below: float) -> float:
    """One time over another; 0 or infinite where one of them is, NaN where there is nothing to compare.

    That is if neither ends, or if one is 0: a race whose goal is met at the start has not been run.

    >>> quotient(3.0, 2.0), quotient(3.0, math.inf), quotient(math.inf, math.inf), quotient(3.0, 0.0)
    (1.5, 0.0, nan, nan)
    """
    return float(above) / float(below) if above and below else math.nan


class Mean(NamedTuple):
    """A mean over seeds with its 95 % interval, as `Ledger.measure` takes it; NaN where seeds lack."""

    value: float
    low: float | None
    high: float | None
    n: int


def mean_of(values: Mapping[int, float], *, geometric: bool = False) -> Mean:
    """The mean over seeds, of logarithms if `geometric`, as is right for quotients.

    NaN for fewer than two seeds, or if a number is not finite or a quotient is 0: over a run without end.

    >>> mean_of({0: 1.0, 1: 4.0}, geometric=True).value
    2.0
    """
    given = np.array(list(values.values()))
    if len(given) < 2 or not np.isfinite(given).all() or (geometric and (given <= 0).any()):
        return Mean(math.nan, None, None, 1)
    value, low, high = np.exp(interval(np.log(given))) if geometric else interval(given)
    return Mean(float(value), float(low), float(high), len(given))


def band(
    rows: Rows,
    norm: str,
    batch_size: int,
    key: str,
    factor: float = 1.0,
    *,
    geometric: bool = False,
    **also: Any,
) -> dict[str, np.ndarray]:
    """A curve to draw: `update`, and `mean`, `low`, `high` of `factor` times the key over seeds (95 %).

    The measurement before training is left out; `geometric` as in `mean_of`, `also` as in `runs_of`.
    """
    values = factor * seeds_of(rows, norm, batch_size, key, **also)[:, 1:]
    values = np.log(np.maximum(values, 1e-12)) if geometric else values
    drawn = np.array([interval(column) for column in values.T]).T
    mean, low, high = np.exp(drawn) if geometric else drawn
    updates = seeds_of(rows, norm, batch_size, "update", **also)[0, 1:]
    return {"update": updates, "mean": mean, "low": low, "high": high}


def flat(nested: Mapping[Any, Any] | Mean, *names: str) -> list[Row]:
    """Curves or means in dictionaries as rows: a name for each level above them.

    >>> flat({"layer": {"update": [1, 2], "mean": [0.5, 0.4]}}, "norm")[1]
    {'norm': 'layer', 'update': 2, 'mean': 0.4}
    """
    if not names:
        if isinstance(nested, Mean):
            return [nested._asdict()]
        return [dict(zip(nested, values, strict=True)) for values in zip(*nested.values(), strict=True)]
    assert not isinstance(nested, Mean)
    first, *rest = names
    return [{first: key} | row for key, inner in nested.items() for row in flat(inner, *rest)]


def late_error(rows: Rows, norm: str, batch_size: int) -> Float[np.ndarray, " seeds"]:
    """Geometric mean of the test error over the second half of training, for each seed.

    One measurement of a network that trains in small batches is luck; several are less so.
    """
    errors = seeds_of(rows, norm, batch_size, "test_error")
    return np.exp(np.log(errors[:, errors.shape[1] // 2 + 1 :]).mean(axis=1))


def updates_to(goal: float, errors: ArrayLike, updates: ArrayLike) -> float:
    """The update at which an error first falls to a goal, by straight lines between measurements.

    Raises ValueError if it never does.

    >>> updates_to(0.3, [0.9, 0.5, 0.1], [0, 10, 20])
    15.0
    """
    errors, updates = np.asarray(errors, dtype=float), np.asarray(updates, dtype=float)
    if not (errors <= goal).any():
        raise ValueError(f"the error never falls to {goal}; its lowest value is {errors.min()}")
    k = int((errors <= goal).argmax())
    if k == 0:
        return float(updates[0])
    part = (errors[k - 1] - goal) / (errors[k - 1] - errors[k])
    return float(updates[k - 1] + part * (updates[k] - updates[k - 1]))


def near(cases: float, key: str, factor: float = 1.0) -> Callable[[pd.DataFrame], float]:
    """For `each`: a column of the row nearest to so many cases seen (infinite: the last), times a factor."""

    def measure(run: pd.DataFrame) -> float:
        at = -1 if cases == math.inf else (run["cases_seen"] - cases).abs().argmin()
        return factor * float(run[key].iloc[at])

    return measure


def late(key: str, rows: int = 10) -> Callable[[pd.DataFrame], float]:
    """For `each`: the geometric mean of a column over the last so many rows."""
    return lambda run: math.exp(math.fsum(map(math.log, run[key].tail(rows))) / rows)


def reached(goal: float, key: str = "train_loss") -> Callable[[pd.DataFrame], float]:
    """For `each`: the updates that a run takes until a column falls to a goal; infinite if it never does.

    A `train_loss`, a mean over the updates since the row before, counts for the middle of them.
    """

    def measure(run: pd.DataFrame) -> float:
        times = run["update"].rolling(2).mean() if key == "train_loss" else run["update"]
        values = run[key].dropna()
        return updates_to(goal, values, times[values.index]) if values.min() <= goal else math.inf

    return measure
