"""What a page says of a race: a number where there is one, and else who did not arrive."""

from math import inf, nan

import pytest

from lnbook.ledger.verdicts import FEWEST
from lnbook.shared.curves import Mean, mean_of, quotient
from lnbook.shared.wording import between, interval, lead, missed, told

NONE = Mean(nan, None, None, 1)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ({0: 0.0, 1: 0.0, 2: 1.5}, "layer norm misses the goal in 2 of 3 runs"),
        ({0: inf, 1: 1.5}, "no norm misses the goal in 1 of 2 runs"),
        (
            {0: nan, 1: 0.0},
            "layer norm misses the goal in 1 of 2 runs and there is nothing to time in 1 of 2 runs",
        ),
    ],
)
def test_a_race_in_which_a_run_does_not_arrive_has_no_factor_and_says_who_is_missing(
    factors: dict[int, float], said: str
) -> None:
    assert lead(factors, 1200) == f"within 1,200 updates {said}, so there is no factor"
    assert said in missed(factors, 1200)


def test_a_race_that_all_finish_is_told_by_its_mean_and_interval() -> None:
    assert lead({0: 1.0, 1: 4.0}, 60).startswith("the baseline takes 2.00 times as many updates")
    assert missed({0: 1.0, 1: 4.0}, 60) == "within 60 updates both reach the goal"


@pytest.mark.parametrize("factors", [{}, {0: 2.0}])
def test_too_few_seeds_are_called_too_few(factors: dict[int, float]) -> None:
    assert lead(factors, 60) == f"{len(factors)} pairs of runs are too few for a factor with an interval"


def test_a_mean_without_a_number_is_said_in_words_in_every_form() -> None:
    assert [told(NONE), between(NONE), interval(NONE)] == ["no number", "no interval", "no number"]
    assert interval(NONE, missing="never reached") == "never reached"
    assert interval(mean_of(dict.fromkeys(range(FEWEST), 1.0)), "+.1f") == "+1.0 (95 %: +1.0 to +1.0)"


def test_an_interval_over_fewer_seeds_than_the_ledger_takes_is_not_shown() -> None:
    few = mean_of(dict.fromkeys(range(FEWEST - 1), 1.0))
    assert interval(few, "+.1f") == "+1.0 (4 seeds, no interval)"
    assert "95 %" not in lead(dict.fromkeys(range(FEWEST - 1), 2.0), 60)
    assert "95 %" in lead(dict.fromkeys(range(FEWEST), 2.0), 60)


def test_times_that_cannot_be_compared_have_no_quotient() -> None:
    assert quotient(6.0, 4.0) == 1.5
    assert quotient(6.0, inf) == 0
    assert quotient(inf, 6.0) == inf
    for above, below in ((inf, inf), (6.0, 0.0), (0.0, 6.0), (0.0, 0.0)):
        assert quotient(above, below) != quotient(above, below)
