"""Reading the ledger: sections, experiments."""

import pytest

from lnbook.ledger.rules import load_sentences
from lnbook.ledger.sentences import Judged
from lnbook.ledger.verdicts import SENTENCE_WORDS, Measurement, Verdict
from lnbook.pages.sec7_conclusion import reading
from lnbook.pages.sec7_conclusion.reading import RACES, SECTIONS, by_section


def test_every_sentence_of_the_ledger_has_its_section_and_so_has_every_section_a_sentence() -> None:
    inside = by_section([Judged(s, Verdict("verified")) for s in load_sentences()])
    assert all(inside.values())
    assert len(RACES) == 7
    assert set(RACES) < set(SECTIONS)


def test_the_table_counts_every_verdict_that_a_sentence_can_have_once() -> None:
    sentence = load_sentences()[0]
    every = [Judged(sentence, Verdict(word)) for word in SENTENCE_WORDS]
    assert sum(reading.counted(every).values()) == len(every)


def test_only_an_experiment_with_both_factors_takes_part() -> None:
    some = Measurement("x", 2.0, 1.5, 2.7, 5, values=(2.0,) * 5)
    found = {"s64-own-step": some, "s64-faster": some, "s65-own-step": some}
    assert list(reading.of_both(found)) == ["6.4"]


def test_an_advantage_is_the_quotient_of_geometric_means_with_welchs_interval() -> None:
    def factors(value: float) -> reading.Factors:
        return reading.Factors(*[Measurement("x", value, value / 2, 2 * value, 5)] * 2)

    found = {"6.1": factors(2.0), "6.2": factors(8.0), "6.6": factors(1.0), "6.7": factors(4.0)}
    mean = reading.advantage(found)
    assert (mean.value, mean.n) == (pytest.approx(2.0), 4)
    assert mean.low * mean.high == pytest.approx(4.0), "on logarithms the interval is symmetric"
    assert reading.advantage({"6.1": factors(2.0)}).n == 1
