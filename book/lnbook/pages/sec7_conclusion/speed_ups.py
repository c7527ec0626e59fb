"""Who gains the most from layer norm: the speed-ups of recurrent and of feed-forward networks, side by side.

A speed-up is the updates of a network without a norm over those of its twin with layer norm to the same
goal. Each page of Section 6 has a rule that measures its own.
"""

from collections.abc import Mapping, Sequence
from math import exp, log, nan

from scipy import stats

from lnbook.ledger.rules import Rule
from lnbook.ledger.tables import Table, quantity
from lnbook.ledger.verdicts import Measurement
from lnbook.shared.curves import Mean

__all__ = ["FEED_FORWARD", "OWN_STEP", "RECURRENT", "advantage", "at_own_steps", "speed_ups"]

RECURRENT = {  # section of the paper: the rule that measures its speed-up
    "6.1": "s61-speedup",
    "6.2": "s62-faster",
    "6.3": "s63-faster",
    "6.4": "s64-faster",
    "6.5": "s65-faster",
}
FEED_FORWARD = {"6.6": "s66-none", "6.7": "s67-updates"}
OWN_STEP = {  # the rules that measure it with each network at its own step size
    "6.1": "s61-own-step",
    "6.2": "s62-own-step",
    "6.3": "s63-own-step",
    "6.4": "s64-own-step",
    "6.5": "s65-own-step",
    "6.6": "s66-own-none",
    "6.7": "s67-own-step",
}


def speed_ups(rules: Mapping[str, str], found: Mapping[str, Measurement]) -> dict[str, Measurement]:
    """The speed-ups that are recorded and are numbers, by section; of `RECURRENT` or `FEED_FORWARD`.

    >>> list(speed_ups(RECURRENT, {"s64-faster": Measurement("s64-faster", 1.5, 1.2, 1.9, 5)}))
    ['6.4']
    """
    return {
        section: found[rule] for section, rule in rules.items() if rule in found and found[rule].value > 0
    }


def at_own_steps(rules: Mapping[str, Rule], found: Mapping[str, Measurement]) -> Table:
    """A line for each section of `OWN_STEP`: its factor at one step size, and at each network's own.

    Args:
        rules: by id.
        found: what was measured, by the rule's id; a dash stands for what was not.
    """

    def cell(rule: str) -> str:
        return quantity(rules[rule], found[rule]) if rule in found else "-"

    one = RECURRENT | FEED_FORWARD
    lines = [[section, cell(one[section]), cell(own)] for section, own in OWN_STEP.items()]
    return Table(["Section", "At one step size", "At each network's own"], lines)


def advantage(some: Sequence[Measurement], others: Sequence[Measurement]) -> Mean:
    r"""How much larger the speed-ups of one kind of experiment are than those of another kind.

    $$\exp\Big(\frac1K\sum_k \ell_k - \frac1M\sum_m \ell_m\Big)$$

    with the logarithms $\ell$ of the speed-ups. Its 95 % interval is that of Welch and Satterthwaite, from
    the spread between the experiments of each kind: it says what other experiments of these kinds would do.

    *Source* ours.

    Args:
        some, others: speed-ups, one per experiment.

    Returns:
        The quotient, and how many experiments it is over; NaN if a kind has fewer than two.

    Raises:
        ValueError: a speed-up that is not above 0.

    >>> fast, slow = ([Measurement("x", s, s, s) for s in pair] for pair in ((2.0, 8.0), (1.0, 4.0)))
    >>> round(advantage(fast, slow).value, 12)
    2.0
    """
    if wrong := [m for m in (*some, *others) if not m.value > 0]:
        raise ValueError(f"A speed-up is above 0; these are not: {wrong}")
    if min(len(some), len(others)) < 2:
        return Mean(nan, None, None, 1)
    logs = [[log(m.value) for m in group] for group in (some, others)]
    difference = sum(logs[0]) / len(logs[0]) - sum(logs[1]) / len(logs[1])
    low, high = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    return Mean(exp(difference), exp(float(low)), exp(float(high)), len(some) + len(others))
