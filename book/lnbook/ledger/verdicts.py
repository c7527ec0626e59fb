"""What a measurement says about a rule: the verdicts, computed and never typed.

| what is known | verdict |
| --- | --- |
| an identity, or a computed number, is as the rule says | verified, or verified if a named condition is met |
| a program of ours computes what is described | implemented as described |
| the print is as wrong as the rule says | error in print |
| the interval lies on the claimed side of the bound | supported |
| it lies on the other side | contradicted |
| it contains the bound and excludes the effect | smaller than claimed, or below what counts here |
| it contains both | undecided, and how many seeds would decide |
| a difference is denied | two one-sided tests within the margin |
| nothing was run | not measured |

Smaller than claimed is a size that the paper gives; where it gives none, ours counts. What was measured below
the paper's size says so: "in a stand-in", "for this implementation".
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import nctdtr, stdtr, stdtrit  # Student's t; scipy.stats takes a second to import

from lnbook.ledger.rules import COMPARISONS, Rule, criterion

LEVEL = 0.05  # how often an interval misses, and chance alone decides a sentence: intervals are of 95 %
TWO_SIDED = 1 - LEVEL / 2  # the quantile at an interval's upper end
FEWEST = 5  # an interval over fewer says more about Student's t than about the networks
POWER = 0.8  # how often the number of seeds that is named would find the effect
MOST = 10**6  # seeds; what needs more is not said
NOT_TESTED = "not tested at the paper's size"
SENTENCE_WORDS = (  # on a sentence; a rule is neither read nor tested elsewhere
    "verified",
    "verified if",
    "implemented as described",
    "error in print",
    "supported",
    "contradicted",
    "smaller than claimed",
    "below what counts here",
    "undecided",
    "read",
    NOT_TESTED,
    "not measured",
)
MARK = "†"  # beside every verdict whose rule is younger than its data
YOUNGER = "rule younger than its data"
SAID = {"error": "error in print", "code": "implemented as described"}
WHERE = {"exact": "", "paper": "", "stand-in": "in a stand-in", "implementation": "for this implementation"}


def interval(values: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Mean of independent measurements and its 95 % interval: Student's t over n - 1 degrees of freedom.

    >>> [round(v, 3) for v in interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs at least 2 measurements, got {len(values)}; use more seeds")
    mean = float(np.mean(values))
    half = float(stdtrit(len(values) - 1, TWO_SIDED) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half


@dataclass(frozen=True)
class Measurement:
    """What was measured for a rule."""

    rule: str  # its id
    value: float  # the mean, or for a ratio the geometric mean; NaN if there is no number
    low: float  # its 95 % interval; both ends equal the value if it has none
    high: float
    n: int = 1  # how many seeds, or whatever the rule counts, it is over
    values: tuple[float, ...] = ()  # one by one, where they are kept

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval that may be shown: a number over at least `FEWEST`."""
        return self.n >= FEWEST and math.isfinite(self.value) and not self.low == self.high == self.value


@dataclass(frozen=True)
class Verdict:
    """A word of `SENTENCE_WORDS`, where it was found, and what has to be said with it."""

    word: str
    where: str = ""
    note: str = ""

    def __str__(self) -> str:
        if self.word == "verified if":
            return " ".join(filter(None, (self.word, self.note, self.where)))
        return " ".join(filter(None, (self.word, self.where))) + (f" ({self.note})" if self.note else "")


def meets(rule: Rule, value: float) -> bool:
    """Whether a number is as the rule expects; NaN is not."""
    operator, bound = criterion(rule)
    return bool(COMPARISONS[operator](value, bound))


def judge(rule: Rule, found: Measurement | None) -> Verdict:
    """The verdict on what was measured for a rule; the table at the head of this module."""
    where = WHERE[rule.size]
    if found is None or math.isnan(found.value):
        return Verdict("not measured", "", "no number" if found else "not run")
    if not rule.sampled:
        word = SAID.get(rule.kind, "verified if" if rule.condition else "verified")
        return Verdict(word if meets(rule, found.value) else "contradicted", where, rule.condition)
    note = ""
    if not found.has_interval:
        runs = "a single run" if found.n == 1 else f"n = {found.n}"
        word, note = "undecided", f"{runs}; an interval needs {FEWEST} or more"
    else:
        word = _same(rule, found) if rule.kind == "same" else _effect(rule, found)
        if word == "undecided" and (needs := seeds_needed(rule, found)):
            note = f"n = {needs:,} would decide"
        if word == "supported" and rule.effect is not None and not _reaches(rule, found):
            whose = "the paper has" if rule.effect_from == "paper" else "what counts here is"
            note = f"the right side, but {whose} {rule.effect:g}"
    return Verdict(word, where, "; ".join(filter(None, (rule.condition, note))))


def _effect(rule: Rule, found: Measurement) -> str:
    if meets(rule, found.low) and meets(rule, found.high):
        return "supported"
    if not meets(rule, found.low) and not meets(rule, found.high):
        return "contradicted"
    assert rule.effect is not None  # a rule without one is refused when it is read
    if found.low <= rule.effect <= found.high:
        return "undecided"
    return "smaller than claimed" if rule.effect_from == "paper" else "below what counts here"


def _reaches(rule: Rule, found: Measurement) -> bool:
    """Whether the interval has the effect that counts, or more."""
    assert rule.effect is not None
    return found.high >= rule.effect if criterion(rule)[0] in (">", ">=") else found.low <= rule.effect


def _same(rule: Rule, found: Measurement) -> str:
    """Two one-sided tests of 5 %: the interval of 90 % within the margins."""
    center, error = _estimate(rule, found)
    half = float(stdtrit(found.n - 1, 1 - LEVEL)) * error
    margin = _margin(rule)
    if abs(center) + half <= margin:
        return "supported"
    wide = float(stdtrit(found.n - 1, TWO_SIDED)) * error
    return "contradicted" if abs(center) - wide >= margin else "undecided"


def _estimate(rule: Rule, found: Measurement) -> tuple[float, float]:
    """How far the value is from the bound, and its standard error; of the logarithm if it is a ratio."""
    bound = criterion(rule)[1]
    bound, value, low, high = (_on_scale(rule, x) for x in (bound, found.value, found.low, found.high))
    return value - bound, (high - low) / 2 / float(stdtrit(found.n - 1, TWO_SIDED))


def _on_scale(rule: Rule, x: float) -> float:
    if rule.scale != "ratio":
        return x
    return math.log(x) if x > 0 else -math.inf


def _margin(rule: Rule) -> float:
    assert rule.margin is not None
    return math.log(rule.margin) if rule.scale == "ratio" else rule.margin


def two_sided(rule: Rule, found: Measurement) -> float:
    """How probable so large a distance from the bound is if there is none: Student's t, two-sided.

    Of a rule that denies a difference: if it is within the margin, the larger of two one-sided tests that it
    is not; if it is beyond, how probable it is there if the true one is at the margin, two-sided.
    """
    distance, error = _estimate(rule, found)
    if error == 0 or not math.isfinite(error):
        return 0.0 if distance else 1.0
    freedom = found.n - 1
    if rule.kind == "same":
        inside = (_margin(rule) - abs(distance)) / error
        return float(stdtr(freedom, -inside) if inside >= 0 else 2 * stdtr(freedom, inside))
    return float(2 * stdtr(freedom, -abs(distance) / error))


def seeds_needed(rule: Rule, found: Measurement) -> int:
    """The seeds that find the rule's effect with a probability of `POWER`, if the spread is as measured.

    Of "same": those that show that there is no difference if there is none. More than there are, at least
    `FEWEST`; 0 if it is above a million or the spread is not known.
    """
    _, error = _estimate(rule, found)
    spread = error * math.sqrt(found.n)
    if not 0 < spread < math.inf:
        return 0
    if rule.kind == "same":
        size = _margin(rule) / spread
        power = lambda n: 2 * stdtr(n - 1, size * np.sqrt(n) - stdtrit(n - 1, 1 - LEVEL)) - 1  # noqa: E731
    else:
        assert rule.effect is not None
        size = abs(_on_scale(rule, rule.effect) - _on_scale(rule, criterion(rule)[1])) / spread
        power = lambda n: 1 - nctdtr(n - 1, size * np.sqrt(n), stdtrit(n - 1, TWO_SIDED))  # noqa: E731
    high = first = max(FEWEST, found.n + 1)
    while high <= MOST and not power(high) >= POWER:
        high *= 2
    if high > MOST:
        return 0
    return bisect_left(range(high), True, max(first, high // 2), key=lambda n: bool(power(n) >= POWER))


def measured(rule: Rule, values: Sequence[float]) -> Measurement:
    """Independent measurements as one: their mean, of logarithms if the rule's quantity is a ratio."""
    given = tuple(float(x) for x in values)
    if len(given) < 2 or not all(math.isfinite(_on_scale(rule, x)) for x in given):
        value = given[0] if len(given) == 1 else math.nan
        return Measurement(rule.id, value, value, value, max(1, len(given)), given)
    mean = interval([_on_scale(rule, x) for x in given])
    value, low, high = (math.exp(x) if rule.scale == "ratio" else x for x in mean)
    return Measurement(rule.id, value, low, high, len(given), given)
