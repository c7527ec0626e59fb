"""Speed-ups compared: against Welch's test on the logarithms of the experiments."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lnbook.ledger.rules import load_rules
from lnbook.ledger.verdicts import Measurement
from lnbook.pages.sec7_conclusion.reading import EXPERIMENTS
from lnbook.pages.sec7_conclusion.speed_ups import (
    FEED_FORWARD,
    OWN_STEP,
    RECURRENT,
    advantage,
    at_own_steps,
    speed_ups,
)


def made(*values: float) -> list[Measurement]:
    """An experiment for each speed-up."""
    return [Measurement("a", v, v, v, 3) for v in values]


EXPERIMENT = st.lists(st.floats(0.5, 4), min_size=2, max_size=6).filter(lambda x: max(x) / min(x) > 1.01)


@given(EXPERIMENT, EXPERIMENT)
def test_the_spread_between_experiments_makes_the_interval(one: list[float], other: list[float]) -> None:
    found = advantage(made(*one), made(*other))
    welch = stats.ttest_ind(np.log(one), np.log(other), equal_var=False).confidence_interval(0.95)
    # logarithms and back: rounding
    assert math.log(found.low) == pytest.approx(welch.low, rel=1e-9, abs=1e-9)
    assert math.log(found.high) == pytest.approx(welch.high, rel=1e-9, abs=1e-9)
    assert found.value == pytest.approx(math.exp(np.mean(np.log(one)) - np.mean(np.log(other))))
    assert found.n == len(one) + len(other)


def test_who_gains_the_most_can_be_refuted() -> None:
    slow, fast = made(1.0, 1.05, 0.95), made(2.0, 2.1, 1.9)
    assert advantage(fast, slow).low > 1
    assert advantage(slow, fast).high < 1
    assert advantage(slow, slow).low < 1 < advantage(slow, slow).high


def test_one_experiment_of_a_kind_says_nothing_of_its_kind() -> None:
    assert math.isnan(advantage(made(2.0, 3.0), made(1.0)).value)
    assert math.isnan(advantage(made(2.0, 3.0), []).value)


def test_a_speed_up_that_is_not_above_0_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        advantage(made(2.0, -1.0), made(1.0, 2.0))


def test_speed_ups_that_are_missing_or_not_numbers_are_left_out() -> None:
    lacking = Measurement("s61-speedup", math.nan, math.nan, math.nan)
    found = speed_ups(RECURRENT, {"s61-speedup": lacking, "s64-faster": made(1.4)[0]})
    assert list(found) == ["6.4"]


def test_each_experiment_has_one_rule_which_is_a_rule_of_its_page() -> None:
    rules = {rule.id: rule for rule in load_rules()}
    known = RECURRENT | FEED_FORWARD
    assert sorted(known) == sorted(EXPERIMENTS)
    for section, name in known.items():
        assert rules[name].page.startswith(f"sec{section.replace('.', '_')}_")
        assert rules[name].expect == "> 1", "a speed-up is a quotient, and above 1 layer norm is faster"


def test_a_factor_at_one_step_size_stands_beside_that_at_each_networks_own() -> None:
    rules = {rule.id: rule for rule in load_rules()}
    found = {
        "s61-speedup": Measurement("s61-speedup", 1.5, 1.2, 1.9, 8),
        "s61-own-step": Measurement("s61-own-step", 1.0, 1.0, 1.0, 2),
        "s67-own-step": Measurement("s67-own-step", math.nan, math.nan, math.nan, 5, reached=(3, 4)),
    }
    table = at_own_steps(rules, found)
    assert [row[0] for row in table.rows] == list(OWN_STEP)
    assert table.rows[0][1:] == ["1.5 [1.2, 1.9]", "1"]
    assert table.rows[-1][1:] == ["-", "no number (3 of 5 runs reach the goal, 4 of 5 of the other network)"]
