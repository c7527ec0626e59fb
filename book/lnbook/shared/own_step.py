"""Which step size is a method's own, where several were tried: the best on the runs that do not judge."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from lnbook.ledger.tables import Table
from lnbook.shared.curves import Rows, mean_of, with_settings
from lnbook.shared.wording import interval, missed
from lnbook.training import Row

__all__ = ["OwnSteps", "at_own_steps", "at_the_edge", "best_elsewhere", "by_step", "chosen_steps", "in_words"]


def best_elsewhere(lowest: Mapping[float, Mapping[int, float]]) -> dict[int, float]:
    """For each seed, the step size whose lowest loss is least on average over the other seeds.

    A method whose step size is chosen on the run that judges it looks better than it is, and
    the method with the larger spread more so. The seed left out has no part in its choice.

    Args:
        lowest: by step size, by seed, the lowest validation loss; infinite or NaN for a run that diverged.

    Raises ValueError unless all step sizes have the same two or more seeds.

    >>> best_elsewhere({0.1: {0: 3.0, 1: 1.0, 2: 1.0}, 0.2: {0: 0.0, 1: 2.0, 2: 2.0}})
    {0: 0.1, 1: 0.2, 2: 0.2}
    """
    seeds = sorted(next(iter(lowest.values()), {}))
    if len(seeds) < 2 or any(sorted(runs) != seeds for runs in lowest.values()):
        found = {step: sorted(runs) for step, runs in lowest.items()}
        raise ValueError(
            f"step sizes with seeds {found}; each needs the same two or more, for one is left out"
        )

    return {seed: min(lowest, key=partial(_elsewhere, lowest, seed)) for seed in seeds}


class OwnSteps(NamedTuple):
    """Runs of several methods, each at its own step size.

    Attributes:
        rows: of one run for each method and seed.
        chosen: by method, by seed, the step size of that run.
    """

    rows: list[Row]
    chosen: dict[str, dict[int, float]]


def at_own_steps(rows: Sequence[Row], lowest: Callable[[pd.DataFrame], float]) -> OwnSteps:
    """Of runs at several step sizes, those whose step size is `best_elsewhere`, for each norm and seed.

    Args:
        rows: with the columns `norm`, `rate`, `seed` and, if runs have a model that validation chose,
            `selected`. Seeds that a norm does not have at each of its step sizes are left out.
        lowest: makes the number that step sizes are compared by, the least the best, of the rows of one run
            without the selected one.

    >>> runs = {("layer", 0.1): (5.0, 1.0), ("layer", 0.2): (3.0, 2.0)}
    >>> rows = [
    ...     {"norm": norm, "rate": rate, "seed": seed, "loss": loss}
    ...     for (norm, rate), losses in runs.items()
    ...     for seed, loss in enumerate(losses)
    ... ]
    >>> at_own_steps(rows, lambda run: run["loss"].min()).chosen
    {'layer': {0: 0.1, 1: 0.2}}
    """
    chosen = chosen_steps(rows, lowest)
    kept = [row for row in rows if chosen[row["norm"]].get(row["seed"]) == row["rate"]]
    return OwnSteps(kept, chosen)


def chosen_steps(rows: Rows, lowest: Callable[[pd.DataFrame], float]) -> dict[str, dict[int, float]]:
    """By norm, by seed, the step size that `at_own_steps` takes; its arguments, or a table of the rows."""
    chosen = {}
    for norm, by_rate in _lowest(rows, lowest).items():
        seeds = set.intersection(*(set(runs) for runs in by_rate.values()))
        chosen[norm] = best_elsewhere({r: {s: runs[s] for s in seeds} for r, runs in by_rate.items()})
    return chosen


def by_step(
    rows: Sequence[Row],
    lowest: Callable[[pd.DataFrame], float],
    factor: Callable[[Sequence[Row]], Mapping[int, float]],
    norms: Mapping[str, str],
    *,
    what: str,
    form: str,
    above: str = "no norm",
) -> Table:
    """A line for each step size: the number that step sizes are compared by, and who is faster.

    Args:
        rows, lowest: as in `at_own_steps`.
        factor: makes the quotients of updates, by seed, of the rows of one step size.
        norms: the methods and their names, a column each.
        what: the heading of these columns: the number and its unit.
        form: of that number.
        above: the name of the method whose updates are divided by layer norm's.
    """
    found, lines = _lowest(rows, lowest), []
    for rate in sorted({row["rate"] for row in rows}):
        cells = [interval(mean_of(found[norm].get(rate, {})), form) for norm in norms]
        some = with_settings(rows, rate=rate)
        quotients = factor(some)
        never = missed(quotients, max(row["update"] for row in some), above)
        lines.append([f"{rate:g}", *cells, interval(mean_of(quotients, geometric=True), missing=never)])
    heads = [f"{what}, {name}" for name in norms.values()]
    return Table(["Step size", *heads, "Factor in updates"], lines)


def in_words(steps: Mapping[int, float]) -> str:
    """The step sizes that a method's seeds take.

    >>> in_words({0: 0.002, 1: 0.001, 2: 0.001})
    '0.001 or 0.002'
    """
    return " or ".join(f"{step:g}" for step in sorted(set(steps.values())))


def at_the_edge(
    chosen: Mapping[str, Mapping[int, float]], tried: Collection[float], names: Mapping[str, str]
) -> str:
    """A sentence on which methods take the smallest or the largest step size of those tried.

    >>> at_the_edge({"none": {0: 0.2, 1: 0.2}}, [0.1, 0.2, 0.3], {"none": "no norm"})
    'No choice falls on the smallest or the largest step size.'
    """
    ends = {min(tried), max(tried)}
    who = [names[norm] for norm, steps in chosen.items() if ends & set(steps.values())]
    if not who:
        return "No choice falls on the smallest or the largest step size."
    return (
        f"The choice of {' and '.join(who)} is at the edge of the step sizes tried, so another one may suit "
        f"{'it' if len(who) == 1 else 'them'} better still."
    )


def _lowest(rows: Rows, lowest: Callable[[pd.DataFrame], float]) -> dict[str, dict[float, dict[int, float]]]:
    """By norm, by step size, by seed."""
    table = pd.DataFrame(rows)
    measured = table[table["selected"] == 0] if "selected" in table else table
    found: dict[str, dict[float, dict[int, float]]] = {}
    for (norm, rate, seed), run in measured.groupby(["norm", "rate", "seed"]):
        found.setdefault(norm, {}).setdefault(rate, {})[int(seed)] = float(lowest(run))
    return found


def _elsewhere(lowest: Mapping[float, Mapping[int, float]], seed: int, step: float) -> float:
    """The mean over the other seeds; infinite where one of them diverged."""
    mean = np.mean([loss for other, loss in lowest[step].items() if other != seed])
    return float(mean) if np.isfinite(mean) else np.inf
