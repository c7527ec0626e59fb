"""Speed-ups compared: against Welch's test on the logarithms that made them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lnbook.ledger.results import Evidence, load_claims
from lnbook.pages.sec7_conclusion.reading import EXPERIMENTS
from lnbook.pages.sec7_conclusion.speed_ups import FEED_FORWARD, RECURRENT, advantage, speed_ups
from lnbook.shared.curves import mean_of


def made(seeds: list[float], claim: str = "a") -> Evidence:
    """The evidence that a page would store for these seeds."""
    mean = mean_of(dict(enumerate(seeds)), geometric=True)
    assert mean.low is not None
    assert mean.high is not None
    return Evidence(claim, mean.value, mean.low, mean.high, mean.n, "holds")


SEEDS = st.lists(st.floats(0.5, 4), min_size=2, max_size=6).filter(lambda x: max(x) / min(x) > 1.01)


@given(SEEDS, SEEDS)
def test_of_one_experiment_each_it_is_welchs_interval(one: list[float], other: list[float]) -> None:
    found = advantage([made(one)], [made(other)])
    welch = stats.ttest_ind(np.log(one), np.log(other), equal_var=False).confidence_interval(0.95)
    # logarithms and back, and quantiles of t: rounding of both
    assert math.log(found.low) == pytest.approx(welch.low, rel=1e-6, abs=1e-9)
    assert math.log(found.high) == pytest.approx(welch.high, rel=1e-6, abs=1e-9)
    assert found.n == 2


def test_means_over_experiments_are_geometric_and_the_error_shrinks_with_their_number() -> None:
    many = [made([2.0, 2.2, 1.8]), made([8.0, 8.8, 7.2])]
    few = made([1.0, 1.1, 0.9])
    found = advantage(many, [few])
    assert found.value == pytest.approx(math.sqrt(many[0].value * many[1].value) / few.value)
    assert found.n == 3
    alone = advantage(many[:1], [few])
    assert found.high / found.low < alone.high / alone.low


def test_who_gains_the_most_can_be_refuted() -> None:
    slow, fast = made([1.0, 1.05, 0.95]), made([2.0, 2.1, 1.9])
    assert advantage([fast], [slow]).low > 1
    assert advantage([slow], [fast]).high < 1
    assert advantage([slow], [slow]).low < 1 < advantage([slow], [slow]).high


def test_without_a_side_there_is_nothing_to_compare_and_without_spread_no_width() -> None:
    exact = Evidence("a", 2.0, 2.0, 2.0, 3, "holds")
    assert math.isnan(advantage([exact], []).value)
    assert advantage([exact], [exact])[:3] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    "wrong", [Evidence("a", 2.0, 2.0, 2.0, 1, "holds"), Evidence("a", 1.0, -0.5, 2.5, 3, "holds")]
)
def test_a_speed_up_without_an_interval_or_below_zero_is_refused(wrong: Evidence) -> None:
    with pytest.raises(ValueError, match="at least 2 seeds"):
        advantage([wrong], [made([1.0, 2.0])])


def test_speed_ups_that_are_missing_or_not_numbers_are_left_out() -> None:
    lacking = Evidence("s61-speedup", math.nan, math.nan, math.nan, 1, "not reproduced")
    found = speed_ups(RECURRENT, {"s61-speedup": lacking, "s64-faster": made([1.0, 2.0], "s64-faster")})
    assert list(found) == ["6.4"]


def test_each_experiment_has_one_claim_which_is_a_claim_of_its_page() -> None:
    claims = {claim.id: claim for claim in load_claims()}
    known = RECURRENT | FEED_FORWARD
    assert sorted(known) == sorted(EXPERIMENTS)
    for section, name in known.items():
        assert claims[name].page.startswith(f"sec{section.replace('.', '_')}_")
        assert claims[name].expect == "> 1", "a speed-up is a quotient, and above 1 layer norm is faster"
