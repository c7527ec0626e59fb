"""Who gains the most from layer norm: the speed-ups of recurrent and of feed-forward networks, side by side.

A speed-up is the updates of a network without a norm over those of its twin with layer norm to the same
goal. Each page of Section 6 has a claim that measures its own, with an interval over seeds.
"""

from collections.abc import Mapping, Sequence
from math import exp, log, nan

from scipy import stats

from lnbook.ledger.results import Evidence
from lnbook.shared.curves import Mean

__all__ = ["FEED_FORWARD", "RECURRENT", "advantage", "speed_ups"]

RECURRENT = {  # section of the paper: the claim that measures its speed-up
    "6.1": "s61-speedup",
    "6.2": "s62-faster",
    "6.3": "s63-faster",
    "6.4": "s64-faster",
    "6.5": "s65-faster",
}
FEED_FORWARD = {"6.6": "s66-none", "6.7": "s67-updates"}


def speed_ups(claims: Mapping[str, str], evidence: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """The speed-ups that have been measured and are numbers, by section; of `RECURRENT` or `FEED_FORWARD`.

    >>> found = {"s64-faster": Evidence("s64-faster", 1.5, 1.2, 1.9, 3, "holds")}
    >>> list(speed_ups(RECURRENT, found))
    ['6.4']
    """
    return {
        section: evidence[claim]
        for section, claim in claims.items()
        if claim in evidence and evidence[claim].value > 0 and evidence[claim].n > 1
    }


def advantage(some: Sequence[Evidence], others: Sequence[Evidence]) -> Mean:
    r"""How much larger the speed-ups of some experiments are than those of others, for these experiments.

    $$\exp\Big(\frac1K\sum_k \ell_k - \frac1M\sum_m \ell_m\Big)$$

    with the logarithms $\ell$ of the speed-ups. Its 95 % interval is that of Welch and Satterthwaite: the
    standard errors of the logarithms, which the intervals over seeds give, add up as independent. It says
    what other seeds would do, not other experiments.

    *Source* ours.

    Args:
        some, others: geometric means over seeds with their 95 % intervals, each of at least two seeds.

    Returns:
        The quotient, and how many experiments it is of; NaN if there are none on a side.

    Raises:
        ValueError: a speed-up that is not above 0, or has no interval.

    >>> two, one = Evidence("a", 2.0, 1.0, 4.0, 3, ""), Evidence("b", 1.0, 0.5, 2.0, 3, "")
    >>> advantage([two], [one]).value
    2.0
    """
    if wrong := [e for e in (*some, *others) if e.n < 2 or not 0 < e.low <= e.value <= e.high]:
        raise ValueError(
            f"A speed-up is above 0 and has an interval of at least 2 seeds; these do not: {wrong}"
        )
    if not some or not others:
        return Mean(nan, None, None, 1)
    weighted = [(e, 1 / len(some)) for e in some] + [(e, -1 / len(others)) for e in others]
    difference = sum(weight * log(e.value) for e, weight in weighted)
    terms = [(weight * _error(e)) ** 2 for e, weight in weighted]
    variance = sum(terms)
    if variance == 0:
        return Mean(exp(difference), exp(difference), exp(difference), len(weighted))
    freedom = variance**2 / sum(v**2 / (e.n - 1) for v, (e, _) in zip(terms, weighted, strict=True))
    half = float(stats.t.ppf(0.975, freedom)) * variance**0.5
    return Mean(exp(difference), exp(difference - half), exp(difference + half), len(weighted))


def _error(evidence: Evidence) -> float:
    """The standard error of the logarithm, from the interval that it made."""
    return log(evidence.high / evidence.low) / 2 / float(stats.t.ppf(0.975, evidence.n - 1))
