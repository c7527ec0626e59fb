"""Reading the ledger: sections, experiments."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from lnbook.ledger.rules import load_sentences
from lnbook.ledger.sentences import Judged
from lnbook.ledger.verdicts import SENTENCE_WORDS, Measurement, Verdict
from lnbook.pages.sec7_conclusion import reading
from lnbook.races import RACES


def test_every_sentence_has_its_section_and_every_verdict_its_column() -> None:
    sentences = load_sentences()
    inside = reading.by_section([Judged(s, Verdict("verified")) for s in sentences])
    assert list(map(len, inside.values())) == list(Counter(s.section for s in sentences).values())
    every = [Judged(sentences[0], Verdict(word)) for word in SENTENCE_WORDS]
    assert sum(reading.counted(every).values()) == len(every)


def test_only_an_experiment_with_both_factors_takes_part() -> None:
    some = Measurement("x", 2.0, 1.5, 2.7, 5, values=(2.0,) * 5)
    found = {"s64-own-step": some, "s64-faster": some, "s65-own-step": some}
    assert list(reading.of_both(found)) == ["6.4"]


def test_an_advantage_is_the_quotient_of_geometric_means_with_welchs_interval() -> None:
    given = {"6.1": 2.0, "6.2": 8.0, "6.6": 1.0, "6.7": 4.0}
    mean = reading.advantage({s: (Measurement("x", v, v / 2, 2 * v, 5),) * 2 for s, v in given.items()})
    assert (mean.value, mean.n) == (pytest.approx(2.0), 4)
    assert mean.low * mean.high == pytest.approx(4.0), "on logarithms the interval is symmetric"


def test_a_gain_in_points_is_counted_in_standard_errors() -> None:
    found = reading.seen({"MR": 50.0, "MSE": 0.3}, {"MR": 60.0, "MSE": 0.2}, {"CR": 9.0, "MR": 49.0})
    assert found == {"MR": pytest.approx((10.0, 49.0, 1.0))}  # sqrt((0.24 + 0.25) / 49) is 0.1


def test_factors_by_size_and_ratios_of_step_sizes_are_those_of_runs_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = pd.MultiIndex.from_product(
        [(62, 500), ("none", "layer"), (1.0, 0.1), (0, 1), (0, 10, 20)],
        names=["points", "norm", "rate", "seed", "update"],
    )
    rows = runs.to_frame(index=False).assign(batch_size=8, updates=500)
    best = np.where(rows["norm"] == "layer", 0.1, 1.0) == rows["rate"]  # else nothing is learned
    late = (rows["norm"] == "layer") & (rows["points"] == 62)  # of 0, -1, -2: 0, -0.5, -1
    rows["test_nats"] = -rows["update"] / 10 * best / (1 + late)
    rows["valid_nats"] = rows["test_nats"]
    monkeypatch.setattr(reading.curves, "recorded", lambda name: (rows, {}))
    found = reading.by_size()
    assert found.to_dict("list") == {(62, 8): [0.5, 0.5], (500, 8): [1.0, 1.0]}
    monkeypatch.setattr(reading.races, "RACES", {"6.5": RACES["6.5"]})
    assert reading.ratios() == [0.1]
