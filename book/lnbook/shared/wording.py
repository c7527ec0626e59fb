"""Results in words, for pages: a number where there is one, and where there is none, why.

A goal that a run never reaches is a result. `curves.mean_of` says it with NaN; a reader is told here. An
interval over fewer seeds than the ledger takes (`FEWEST`) is not shown.
"""

from collections.abc import Mapping
from math import inf, isfinite, isnan

from lnbook.ledger.verdicts import FEWEST
from lnbook.shared.curves import Mean, mean_of

__all__ = ["between", "interval", "lead", "missed", "told"]


def told(mean: Mean, form: str = ".2f", missing: str = "no number") -> str:
    """The value of a mean, or what is said in its place.

    >>> told(mean_of({0: 1.0, 1: 2.0})), told(mean_of({0: 1.0}))
    ('1.50', 'no number')
    """
    return f"{mean.value:{form}}" if isfinite(mean.value) else missing


def between(mean: Mean, form: str = ".2f", missing: str = "no interval") -> str:
    """The interval of a mean, or what is said in its place.

    >>> between(mean_of(dict.fromkeys(range(5), 1.0))), between(mean_of({0: 1.0}))
    ('1.00 to 1.00', 'no interval')
    >>> between(mean_of({0: 1.0, 1: 1.0}))
    '2 seeds, no interval'
    """
    if mean.low is None or mean.high is None:
        return missing
    if mean.n < FEWEST:
        return f"{mean.n} seeds, no interval"
    return f"{mean.low:{form}} to {mean.high:{form}}"


def interval(mean: Mean, form: str = ".2f", missing: str = "no number") -> str:
    """A mean with its interval behind it.

    >>> interval(mean_of(dict.fromkeys(range(5), 1.0))), interval(mean_of({0: 1.0, 1: 1.0}))
    ('1.00 (95 %: 1.00 to 1.00)', '1.00 (2 seeds, no interval)')
    """
    if mean.low is None or mean.high is None:
        return told(mean, form, missing)
    return f"{told(mean, form)} ({'' if mean.n < FEWEST else '95 %: '}{between(mean, form)})"


def missed(factors: Mapping[int, float], updates: float, above: str = "no norm") -> str:
    """Who does not reach the goal of a race, by the quotients of another network's updates and layer norm's.

    A quotient is 0 where layer norm never arrives, infinite where the other, `above`, does not, and NaN
    where neither does or a run begins at the goal.

    >>> missed({0: 1.5, 1: 0.0}, 60)
    'within 60 updates layer norm misses the goal in 1 of 2 runs'
    """
    cases = {
        "layer norm misses the goal": sum(factor == 0 for factor in factors.values()),
        f"{above} misses the goal": sum(factor == inf for factor in factors.values()),
        "there is nothing to time": sum(isnan(factor) for factor in factors.values()),
    }
    words = [f"{what} in {count} of {len(factors)} runs" for what, count in cases.items() if count]
    return f"within {updates:,.0f} updates " + (" and ".join(words) or "both reach the goal")


def lead(factors: Mapping[int, float], updates: float, form: str = ".2f") -> str:
    """A race in words: the geometric mean of its quotients over seeds, or who does not arrive.

    Args:
        factors: by seed, updates that no norm takes to a goal over those of layer norm.
        updates: how long the runs were.
        form: of the numbers.

    >>> lead({0: 2.0, 1: 2.0}, 60)
    'the baseline takes 2.00 times as many updates as layer norm (2 seeds, no interval)'
    >>> lead({0: 2.0, 1: 0.0}, 60)
    'within 60 updates layer norm misses the goal in 1 of 2 runs, so there is no factor'
    """
    mean = mean_of(factors, geometric=True)
    if isfinite(mean.value):
        factor, _, behind = interval(mean, form).partition(" ")
        return f"the baseline takes {factor} times as many updates as layer norm {behind}"
    if all(isfinite(factor) and factor > 0 for factor in factors.values()):
        return f"{len(factors)} pairs of runs are too few for a factor with an interval"
    return f"{missed(factors, updates)}, so there is no factor"
