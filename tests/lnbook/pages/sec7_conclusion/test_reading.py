"""Reading the ledger: sections, experiments, margins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.ledger.rules import Rule, load_sentences
from lnbook.ledger.sentences import Judged
from lnbook.ledger.verdicts import Measurement, Verdict, judge
from lnbook.pages.sec7_conclusion import reading
from lnbook.pages.sec7_conclusion.reading import RACES, SECTIONS, by_section, margin


def rule(expect: str = "> 0") -> Rule:
    effect = 100 if expect.startswith(">") else -100
    words = ("a", "3", "Eq. (3)", "...", "page", "q")
    return Rule(*words, expect, "effect", "paper", scale="difference", effect=effect, effect_from="ours")


def measured(value: float, low: float, high: float, n: int = 5) -> Measurement:
    return Measurement("a", value, low, high, n)


def test_every_sentence_of_the_ledger_has_its_section_and_so_has_every_section_a_sentence() -> None:
    inside = by_section([Judged(s, Verdict("verified")) for s in load_sentences()])
    assert all(inside.values())
    assert len(RACES) == 7
    assert set(RACES) < set(SECTIONS)


@given(
    value=st.floats(-5, 5),
    below=st.floats(0.1, 5),
    above=st.floats(0.1, 5),
    operator=st.sampled_from(["<", "<=", ">", ">="]),
)
def test_a_margin_above_one_decides_and_one_below_does_not(value, below, above, operator) -> None:
    found = measured(value, value - below, value + above)
    distance = margin(rule(f"{operator} 0"), found)
    assert distance is not None
    word = judge(rule(f"{operator} 0"), found).word
    if distance > 1:
        assert word in ("supported", "contradicted")
    if distance < 1:
        assert found.low < 0 < found.high
        assert word == "below what counts here"


def test_without_an_interval_there_is_no_margin() -> None:
    assert margin(rule(), measured(3, 3, 3, n=1)) is None
    assert margin(rule(), measured(3, 2, 4, n=4)) is None, "too few for an interval"


def test_only_an_experiment_with_both_factors_takes_part() -> None:
    some = Measurement("x", 2.0, 1.5, 2.7, 5, values=(2.0,) * 5)
    found = {"s64-own-step": some, "s64-faster": some, "s65-own-step": some}
    assert list(reading.races(found)) == ["6.4"]


def test_an_advantage_is_the_quotient_of_geometric_means_with_welchs_interval() -> None:
    def factors(value: float) -> reading.Factors:
        return reading.Factors(*[Measurement("x", value, value / 2, 2 * value, 5)] * 2)

    found = {"6.1": factors(2.0), "6.2": factors(8.0), "6.6": factors(1.0), "6.7": factors(4.0)}
    mean = reading.advantage(found)
    assert (mean.value, mean.n) == (pytest.approx(2.0), 4)
    assert mean.low * mean.high == pytest.approx(4.0), "on logarithms the interval is symmetric"
    assert reading.advantage({"6.1": factors(2.0)}).n == 1
