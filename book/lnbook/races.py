"""Who is faster: one race for every experiment.

Two networks of one seed run until both have reached a level, such as a loss. Their *factor* is how many
times the second one's updates the first one takes; above 1 the second, layer norm, is faster. The level is
the lowest that *both* reach: each of the two can win, and neither loses by definition. Along fixed levels,
where a run may miss one, a miss is a bound on the factor and stays in the median.

Each network races at its own step size, chosen on validation data of the other seeds.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import bdtr  # the binomial distribution; scipy.stats takes a second to import

from lnbook import curves
from lnbook.curves import Measure


@dataclass(frozen=True)
class Race:
    """What falls in an experiment's recorded runs, and which of them race."""

    experiment: str  # its name in `lnbook.cli.experiments`
    falls: Callable[[pd.DataFrame], pd.Series]  # makes of the rows what falls
    rate: float  # the step size of both networks where they have one: the paper's, or the default
    chosen: Mapping[str, Measure]  # validation measures that choose a network's own step size: least is best
    only: Mapping[str, Any] = field(default_factory=dict)  # settings of the runs


def _column(name: str) -> Callable[[pd.DataFrame], pd.Series]:
    return lambda rows: rows[name]


def _lowest(column: str) -> Measure:
    return lambda run: float(run[column].min(skipna=False))


def late_error(run: pd.DataFrame) -> float:
    """The mean validation error over the last quarter of a run: one measurement on few questions is luck."""
    return float(run["valid_error"].tail(max(1, round(len(run) / 4))).mean())


def _bound(rows: pd.DataFrame) -> pd.Series:
    """DRAW's, but for the last row: that is of all cases, easier or harder than the few of the others."""
    return rows["test_bound"].where(rows["test_cases"] == rows["test_cases"].iloc[0])


_MISSED = {"lowest share missed": _lowest("valid_missed")}
_WORDS = {"lowest loss": _lowest("valid_nats_per_word")}
_STROKES = {"lowest loss": _lowest("valid_nats")}
_CLASSES = {
    "lowest loss": _lowest("valid_nll"),
    "last loss": curves.last("valid_nll"),
    "fewest errors": _lowest("valid_error"),
}
_SMALL_START = {"gain": 1.0, "start": "small"}
_PICTURES = {"padding": "zeros", "pictures": "centered", "data": "fashion_mnist"}
_LOSS = _column("train_loss")
RACES = {  # by section of the paper
    "6.1": Race(
        "order_embedding", lambda rows: 100 - rows["valid_image_r10"], 0.001, _MISSED, {"score": "order"}
    ),
    "6.2": Race("attentive_reader", _column("valid_error"), 0.002, {"late error": late_error}, _SMALL_START),
    "6.3": Race("skip_thoughts", _column("valid_nats_per_word"), 0.002, _WORDS, {"decoder": "code"}),
    "6.4": Race("draw", _bound, 0.001, {"last bound": curves.last("valid_bound")}),
    "6.5": Race("handwriting", _column("test_nats"), 0.003, _STROKES, {"updates": 500}),
    "6.6": Race("permutation_mnist", _LOSS, 0.001, _CLASSES, {"batch_size": 128}),
    "6.7": Race("convnet", _LOSS, 0.001, _CLASSES, _PICTURES),
}


def tidy(rows: pd.DataFrame | Sequence[Mapping[str, Any]], race: Race, **settings: Any) -> pd.DataFrame:
    """The rows that race, with two more columns: `level`, what falls, and `time`, the updates until then.

    A training loss is a mean over the updates since the row before and counts for the middle of them.
    """
    found = curves.runs(rows, **{**race.only, **settings})
    level = race.falls(found).astype(float)
    time = found["update"].astype(float)
    if level.name == "train_loss":
        runs = time.groupby([found[key] for key in ("norm", "rate", "seed")])
        time = runs.transform(lambda t: t.rolling(2).mean())
    return found.assign(level=level, time=time).dropna(subset=["level", "time"])


def arrival(run: Mapping[str, np.ndarray] | pd.DataFrame, level: float) -> float:
    """When a run first falls to a level, by straight lines between measurements; infinite if it never does.

    >>> arrival({"time": np.array([0.0, 10.0, 20.0]), "level": np.array([0.9, 0.5, 0.1])}, 0.3)
    15.0
    """
    levels, times = np.asarray(run["level"], float), np.asarray(run["time"], float)
    if not (levels <= level).any():
        return math.inf
    k = int(np.argmax(levels <= level))
    if k == 0:
        return float(times[0])
    part = (levels[k - 1] - level) / (levels[k - 1] - levels[k])
    return float(times[k - 1] + part * (times[k] - times[k - 1]))


def _pairs(rows: pd.DataFrame, above: str, below: str) -> dict[int, tuple[pd.DataFrame, pd.DataFrame]]:
    """The two runs of each seed that has both."""
    runs = dict(iter(rows.groupby(["norm", "seed"])))
    seeds = sorted(seed for norm, seed in runs if norm == above and (below, seed) in runs)
    return {int(seed): (runs[above, seed], runs[below, seed]) for seed in seeds}


def factors(rows: pd.DataFrame, above: str = "none", below: str = "layer") -> pd.Series:
    """By seed, one norm's updates over another's to the lowest level that both reach, of rows as by `tidy`.

    NaN where a run is at its lowest when it begins: that race has not been run.
    """
    found = {}
    for seed, pair in _pairs(rows, above, below).items():
        level = max(run["level"].min() for run in pair)
        one, other = (arrival(run, level) for run in pair)
        found[seed] = one / other if one > 0 and other > 0 else math.nan
    return pd.Series(found, dtype=float).rename_axis("seed")


def along(rows: pd.DataFrame, above: str = "none", below: str = "layer", *, count: int = 20) -> pd.DataFrame:
    """By share of the fall, the median factor at fixed levels, and an interval from the order of the seeds.

    The levels, the same for all seeds, divide the fall from where every run has been measured in training to
    the lowest of its pair, in the median over seeds. Where one of a pair does not arrive, its last update
    bounds the factor on one side only; where neither does, nothing is known. Such a factor is `missed` and
    counts with its lower bound from below and its upper bound from above: an end that depends on it is 0 or
    infinite, and the median then NaN. `confidence` is that of the narrowest interval between two of the
    ordered factors with at least 0.9 (0.94 of five seeds, 0.93 of eight).
    """
    pairs = list(_pairs(rows, above, below).values())
    top = min(run["level"].iloc[1] for pair in pairs for run in pair)
    bottom = float(np.median([min(run["level"].min() for run in pair) for pair in pairs]))
    n = len(pairs)
    outside = 2 * bdtr(np.arange(n // 2 + 1), n, 0.5)
    k = max(int((outside <= 0.1).sum()) - 1, 0)
    found = []
    for share in np.linspace(0, 1, count + 1):
        bounds = np.array([_bounds(*pair, top - share * (top - bottom)) for pair in pairs])
        low, high = np.sort(bounds, axis=0).T
        with np.errstate(divide="ignore"):  # the logarithm of 0, a bound of a miss
            middle = [float(np.exp(np.median(np.log(ends)))) for ends in (low, high)]
        median = middle[0] if middle[0] == middle[1] else math.nan
        missed = int((bounds[:, 0] != bounds[:, 1]).sum())
        found.append((share, median, low[k], high[n - 1 - k], 1 - outside[k], missed))
    return pd.DataFrame(found, columns=["share", "median", "low", "high", "confidence", "missed"])


def _bounds(one: pd.DataFrame, other: pd.DataFrame, level: float) -> tuple[float, float]:
    """Between what the factor of two runs to a level lies; equal where both arrive."""
    times = arrival(one, level), arrival(other, level)
    if math.isinf(times[0]) and math.isinf(times[1]):
        return 0.0, math.inf
    ends = one["time"].iloc[-1], other["time"].iloc[-1]
    return min(times[0], ends[0]) / times[1], times[0] / min(times[1], ends[1])


def own_steps(rows: pd.DataFrame, measure: Measure) -> dict[str, dict[int, float]]:
    """By norm, by seed, the step size that is best on average over the *other* seeds.

    A method whose step size is chosen on the run that judges it looks better than it is, and the method with
    the larger spread more so. Of the measure, on validation data, the least is best; a run that diverged (NaN
    or infinite) never is. Seeds that a norm does not have at each of its step sizes are left out.
    """
    chosen: dict[str, dict[int, float]] = {}
    for norm, some in rows.groupby("norm", sort=False):
        found = {key: measure(run) for key, run in some.groupby(["rate", "seed"])}
        table = pd.Series(found, dtype=float).fillna(math.inf).unstack(1).dropna(axis=1)  # no run at a step
        if len(table.columns) < 2:
            raise ValueError(f"{norm!r} has {len(table.columns)} seeds at each of its step sizes; give two")
        chosen[str(norm)] = {int(s): float(table.drop(columns=s).mean(axis=1).idxmin()) for s in table}
    return chosen


def at_own_steps(rows: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Of runs at several step sizes the one of each norm and seed that `own_steps` names."""
    chosen = own_steps(rows, measure)
    runs = zip(rows["norm"], rows["seed"], rows["rate"], strict=True)
    return rows[[chosen[norm].get(seed) == rate for norm, seed, rate in runs]]


def by_step(
    rows: pd.DataFrame, measure: Measure, names: Mapping[str, str], what: str, form: str
) -> pd.DataFrame:
    """For each step size the measure that chooses, named `what`, by norm, and the first one's factor."""
    lines = {}
    for rate, some in rows.groupby("rate"):
        found = curves.per_seed(some, measure)
        means = {norm: curves.mean_of(found.get(norm, [])) for norm in names}
        factor = curves.mean_of(factors(some, *[*names][:2]), geometric=True)
        line = {f"{what}, {name}": format(means[norm], form) for norm, name in names.items()}
        lines[f"{rate:g}"] = line | {"Factor": f"{factor:.2f}"}
    return pd.DataFrame(lines).T.rename_axis("Step size")


def steps_in_words(steps: Mapping[int, float]) -> str:
    """The step sizes that a method's seeds take.

    >>> steps_in_words({0: 0.002, 1: 0.001, 2: 0.001})
    '0.001 or 0.002'
    """
    return " or ".join(f"{step:g}" for step in sorted(set(steps.values())))


def at_the_edge(
    chosen: Mapping[str, Mapping[int, float]], tried: Collection[float], names: Mapping[str, str]
) -> str:
    """A sentence on which methods take the smallest or the largest of the step sizes tried.

    >>> at_the_edge({"none": {0: 0.2, 1: 0.2}}, [0.1, 0.2, 0.3], {"none": "no norm"})
    'No choice falls on the smallest or the largest step size.'
    """
    ends = {min(tried), max(tried)}
    who = [names[norm] for norm, steps in chosen.items() if ends & set(steps.values())]
    if not who:
        return "No choice falls on the smallest or the largest step size."
    return (
        f"The choice for {' and '.join(who)} is at the edge of the step sizes tried, so another one may suit "
        f"{'it' if len(who) == 1 else 'them'} better still."
    )
