"""The table of verdicts, sizes on a ratio's scale, power, and the probability of a distance."""

import math

import numpy as np
import pytest
from ledger_rules import measurement, rule
from scipy import stats

from lnbook.ledger.verdicts import FEWEST, Measurement, judge, measured, seeds_needed, two_sided


def runs(center: float, spread: float, n: int, seed: int) -> list[float]:
    return list(np.random.default_rng(seed).normal(center, spread, n))


SAVES = rule("< 1", scale="ratio", effect=0.6, effect_from="paper")
ALIKE = rule("== 1", kind="same", scale="ratio", margin=1.1, effect=None, effect_from="")
NAMED = rule(condition="120 updates")
EXACT, MISPRINT, OURS = (rule(kind=kind) for kind in ("identity", "error", "code"))
NONE, ONE = (0, 0, 0), (1, 1, 1)


@pytest.mark.parametrize(
    ("judged", "numbers", "said"),
    [
        (EXACT, NONE, "verified"),
        (EXACT, ONE, "contradicted"),
        (rule(kind="computed", condition="delta > 0"), NONE, "verified if delta > 0"),
        (MISPRINT, NONE, "error in print"),
        (MISPRINT, ONE, "contradicted"),
        (OURS, NONE, "implemented as described"),
        (SAVES, (0.7, 0.5, 0.9), "supported in a stand-in"),
        (SAVES, (0.87, 0.77, 0.97), "supported in a stand-in (the right side, but the paper has 0.6)"),
        (SAVES, (1.3, 1.1, 1.5), "contradicted in a stand-in"),
        (SAVES, (0.95, 0.7, 1.2), "smaller than claimed in a stand-in"),
        (SAVES, (0.8, 0.5, 1.2), "undecided in a stand-in (n = 11 would decide)"),
        (ALIKE, (1.02, 0.98, 1.06), "supported in a stand-in"),
        (ALIKE, (0.98, 0.94, 1.02), "supported in a stand-in"),
        (ALIKE, (1.02, 0.8, 1.3), "undecided in a stand-in (n = 82 would decide)"),
        (ALIKE, (0.5, 0.45, 0.55), "contradicted in a stand-in"),
        (rule(), (0.4, 0.1, 0.7), "supported in a stand-in (the right side, but what counts here is 1)"),
        (rule(), (0.1, -0.2, 0.4), "below what counts here in a stand-in"),
        (rule(), (math.nan, math.nan, math.nan), "not measured (no number)"),
        (rule(size="paper"), (2, 1.5, 2.5), "supported"),
        (rule(size="implementation"), (2, 1.5, 2.5), "supported for this implementation"),
        (NAMED, (2, 1.5, 2.5), "supported in a stand-in (120 updates)"),
        (NAMED, (-2, -3, -1), "contradicted in a stand-in (120 updates)"),
        (NAMED, (0.5, -3, 4), "undecided in a stand-in (120 updates; n = 140 would decide)"),
    ],
)
def test_a_verdict_has_its_word_where_it_was_found_and_on_what_condition(judged, numbers, said):
    assert str(judge(judged, measurement(*numbers))) == said


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
