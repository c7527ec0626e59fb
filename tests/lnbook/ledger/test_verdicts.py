"""What a verdict says beside its word, sizes on a ratio's scale, power, and the probability of a distance.

That each line of the table of verdicts comes out is tested in `test_sentences`.
"""

import math

import numpy as np
import pytest
from ledger_rules import measurement, rule
from scipy import stats

from lnbook.ledger.verdicts import FEWEST, Measurement, judge, measured, seeds_needed, two_sided


def runs(center: float, spread: float, n: int, seed: int) -> list[float]:
    return list(np.random.default_rng(seed).normal(center, spread, n))


def test_a_claim_below_its_bound_is_judged_the_other_way_around():
    saves = rule("< 1", scale="ratio", effect=0.6, effect_from="paper")
    assert judge(saves, measurement(0.7, 0.6, 0.8)).word == "supported"
    assert judge(saves, measurement(1.3, 1.1, 1.5)).word == "contradicted"
    assert judge(saves, measurement(0.95, 0.7, 1.2)).word == "smaller than claimed"
    assert judge(saves, measurement(0.8, 0.5, 1.2)).word == "undecided"


def test_a_factor_within_its_margin_is_no_difference_either_way():
    same = rule("== 1", kind="same", scale="ratio", margin=1.1, effect=None, effect_from="")
    assert judge(same, measurement(1.02, 0.98, 1.06)).word == "supported"
    assert judge(same, measurement(0.98, 0.94, 1.02)).word == "supported"
    assert judge(same, measurement(1.02, 0.8, 1.3)).word == "undecided"
    assert judge(same, measurement(0.5, 0.45, 0.55)).word == "contradicted"


def test_what_was_not_run_or_has_no_number_is_not_measured():
    assert str(judge(rule(), None)) == "not measured (not run)"
    assert str(judge(rule(), Measurement("a", math.nan, math.nan, math.nan, 6))) == "not measured (no number)"


def test_the_right_side_without_the_size_says_so():
    sixty = rule("< 1", scale="ratio", effect=0.6, effect_from="paper")
    assert judge(sixty, measurement(0.87, 0.77, 0.97)).note == "the right side, but the paper has 0.6"
    assert judge(sixty, measurement(0.7, 0.5, 0.9)).note == ""
    assert judge(rule(), measurement(0.4, 0.1, 0.7)).note == "the right side, but what counts here is 1"


def test_a_verdict_says_where_it_was_found_and_on_what_condition():
    for size, where in ("paper", ""), ("implementation", " for this implementation"):
        assert str(judge(rule(size=size), measurement(2, 1.5, 2.5))) == f"supported{where}"
    for found in (measurement(2, 1.5, 2.5), measurement(-2, -3, -1), measurement(0.5, -3, 4)):
        assert " in a stand-in (120 updates" in str(judge(rule(condition="120 updates"), found))


@pytest.mark.parametrize("n", range(1, FEWEST))
def test_few_runs_decide_nothing_however_far_from_the_bound(n):
    verdict = judge(rule(), Measurement("a", 9.0, 8.9, 9.1, n))
    assert verdict.word == "undecided"
    assert ("a single run" if n == 1 else f"n = {n}") in verdict.note


@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("kind", ["effect", "same"])
def test_the_number_of_seeds_that_is_named_has_the_power_that_it_claims(scale, kind):
    ratio = scale == "ratio"
    away = 1.3 if ratio else 0.3  # the effect, or the margin within which there is none
    fields = {"effect": away} if kind == "effect" else {"effect": None, "effect_from": "", "margin": away}
    judged = rule(f"{'>' if kind == 'effect' else '=='} {int(ratio)}", kind=kind, scale=scale, **fields)
    on_scale = math.exp if ratio else float
    spread = 0.4
    half = spread / math.sqrt(6) * 2.5706  # Student's t over 5 degrees of freedom
    pilot = Measurement("a", on_scale(0), on_scale(-half), on_scale(half), 6)
    truth = (math.log(away) if ratio else away) if kind == "effect" else 0.0

    def found(n: int, trials: int) -> float:
        samples = ([on_scale(x) for x in runs(truth, spread, n, k)] for k in range(trials))
        return sum(judge(judged, measured(judged, sample)).word == "supported" for sample in samples) / trials

    n = seeds_needed(judged, pilot)
    assert 0.75 < found(n, 1000) < 0.86, "four standard errors of 80 % in 1,000 trials; n is a whole number"
    assert found(n // 2, 300) < 0.75


def test_what_has_no_spread_or_needs_too_many_names_no_number():
    assert seeds_needed(rule(), Measurement("a", 0.0, 0.0, 0.0, 6)) == 0
    assert seeds_needed(rule(effect=1e-9), measurement(0, -1, 1)) == 0


def test_the_probability_of_a_distance_is_students():
    values = runs(0.4, 1, 9, 3)
    assert two_sided(rule(), measured(rule(), values)) == pytest.approx(
        stats.ttest_1samp(values, 0).pvalue, rel=1e-9
    )


def test_the_probability_beyond_a_margin_is_that_of_the_verdict():
    """At the end of the interval that contradicts it is 5 %, as at the end of any other."""
    same = rule("== 0", kind="same", margin=0.5, effect=None, effect_from="")
    edge = measurement(2.0, 0.5, 3.5)
    assert two_sided(same, edge) == pytest.approx(0.05, rel=1e-9)
    assert judge(same, edge).word == "contradicted"
    assert two_sided(same, measurement(0.0, -0.1, 0.1)) < 0.05


def test_a_ratio_is_judged_by_its_logarithm():
    ratio = rule("> 1", scale="ratio", effect=2)
    found = measured(ratio, [0.5, 2.0, 0.5, 2.0, 1.0])
    assert found.value == pytest.approx(1.0)
    assert found.low * found.high == pytest.approx(1.0)
    assert math.isnan(measured(ratio, [1.0, 0.0, 2.0, 1.0, 1.0]).value), "a run without end has no logarithm"
