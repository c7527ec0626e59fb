"""Recorded and live runs as tables, a row a measurement, a column a setting or a quantity; means over seeds.

The rows are those of `lnbook.training.runs.run`. Numbers that are made of each run stand in a table of a row
a seed and a column a norm, so that a comparison of two norms, seed by seed, is one of two columns.
"""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from lnbook.ledger.rows import place_of, read_pair
from lnbook.ledger.verdicts import FEWEST, interval

Measure: TypeAlias = Callable[[pd.DataFrame], float]  # a number of one run's rows, in order


def recorded(experiment: str, *, scale: str = "study") -> tuple[pd.DataFrame, dict[str, Any]]:
    """The recorded rows of an experiment, and how they came about: of facts that differ all values."""
    rows, facts = read_pair(place_of(experiment, scale=scale))
    told = facts.get("runs", [])
    differ = {name for run in told for name, value in run.items() if isinstance(value, str)} - facts.keys()
    facts |= {name: ", ".join(sorted({str(run.get(name)) for run in told})) for name in differ}
    return pd.read_csv(io.BytesIO(rows)), facts


def has(experiment: str, scale: str) -> bool:
    """Whether anything is recorded of an experiment at a scale; a rule is there before its runs."""
    with suppress(FileNotFoundError):
        return place_of(experiment, scale=scale).is_file()
    return False


def runs(
    rows: pd.DataFrame | Sequence[Mapping[str, Any]], *, selected: int = 0, **settings: Any
) -> pd.DataFrame:
    """The measurements of runs with these settings: one value each, or several in a list, tuple or set.

    `selected` is 1 for the model that the validation cases chose, one row a run.
    """
    table = pd.DataFrame(rows)
    found = table[table["selected"] == selected] if "selected" in table else table
    for name, wanted in settings.items():
        found = found[found[name].isin(wanted if isinstance(wanted, list | tuple | set) else [wanted])]
    if found.empty:
        there = {name: sorted(table[name].unique().tolist(), key=str) for name in settings}
        raise ValueError(f"no runs with {settings}; there are {there}")
    return found


def per_seed(rows: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """A number of each run: a row a seed, a column a norm; NaN where there is no such run."""
    if (twice := rows.duplicated(["norm", "seed", "update"])).any():
        norm, seed = rows.loc[twice, ["norm", "seed"]].iloc[0]
        raise ValueError(f"two runs have norm {norm!r} and seed {seed}; name a setting in which they differ")
    found = {key: measure(run) for key, run in rows.groupby(["norm", "seed"], sort=False)}
    table = pd.Series(found, dtype=float).unstack(0)
    return table[list(dict.fromkeys(rows["norm"]))].rename_axis("seed", axis=0).rename_axis(None, axis=1)


def last(column: str, factor: float = 1.0) -> Measure:
    """The last row of a column, times a factor."""
    return lambda run: factor * float(run[column].iloc[-1])


def near(cases: float, column: str, factor: float = 1.0) -> Measure:
    """The row of a column that is nearest to so many cases seen, times a factor."""
    return lambda run: factor * float(run[column].iloc[(run["cases_seen"] - cases).abs().argmin()])


def late(column: str, rows: int = 10) -> Measure:
    """The geometric mean of a column's last rows: one measurement is luck, several are less so."""
    return lambda run: math.exp(np.log(run[column].tail(rows)).mean())


class Mean(NamedTuple):
    """A mean over seeds with its 95 % interval, as `Page.measure` takes it; formats as a reader is told it.

    >>> f"{mean_of([1.0, 1.0, 1.0, 1.0, 1.0]):.2f}", f"{mean_of([1.0, 2.0]):.2f}", f"{mean_of([]):.2f}"
    ('1.00 [1.00, 1.00]', '1.50 (2 seeds, no interval)', 'no number')
    """

    value: float
    low: float | None
    high: float | None
    n: int

    def __format__(self, form: str) -> str:
        if self.low is None or self.high is None:
            return format(self.value, form) if math.isfinite(self.value) else "no number"
        if self.n < FEWEST:
            return f"{self.value:{form}} ({self.n} seeds, no interval)"
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def mean_of(values: Sequence[float] | pd.Series, *, geometric: bool = False) -> Mean:
    """The mean over seeds, of logarithms if `geometric`, as suits quotients; NaN counts for no seed."""
    given = np.asarray(values, dtype=float)
    given = given[~np.isnan(given)]
    if len(given) < 2:
        return Mean(float(given[0]) if len(given) else math.nan, None, None, len(given))
    value, low, high = np.exp(interval(np.log(given))) if geometric else interval(given)
    return Mean(float(value), float(low), float(high), len(given))


def band(
    rows: pd.DataFrame, column: str, factor: float = 1.0, *, geometric: bool = False
) -> dict[str, pd.DataFrame]:
    """Curves to draw, by norm: `update`, and `mean`, `low`, `high` of a column over the seeds (95 %).

    The measurement before training is left out, a run that ended early, and the interval of one seed.
    """
    found = {}
    for norm, some in rows.groupby("norm", sort=False):
        table = some.pivot(index="update", columns="seed", values=column).iloc[1:] * factor
        table = table.loc[:, table.iloc[-1].notna()].dropna()
        if geometric:
            table = table.clip(lower=1e-12)
        means = [mean_of(line, geometric=geometric) for _, line in table.iterrows()]
        drawn = pd.DataFrame(means, columns=["mean", "low", "high", "n"], index=table.index)
        found[str(norm)] = drawn.drop(columns="n").dropna(axis=1, how="all").reset_index()
    return found


def flat(nested: Mapping[Any, Any], first: str, *names: str) -> list[dict[str, Any]]:
    """Curves or means in dictionaries as rows, with a name for each level above them.

    >>> flat({"layer": pd.DataFrame({"update": [1, 2], "mean": [0.5, 0.4]})}, "norm")[1]
    {'norm': 'layer', 'update': 2, 'mean': 0.4}
    """
    found: list[dict[str, Any]] = []
    for key, inner in nested.items():
        if names:
            below = flat(inner, *names)
        else:
            below = [inner._asdict()] if isinstance(inner, Mean) else inner.to_dict("records")
        found += [{first: key} | row for row in below]
    return found
