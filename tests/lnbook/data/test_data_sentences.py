"""The sentence sets: published formats, and the generated sentences that stand in for them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lnbook.data import DataError, StandInWarning, find, loaded, sentences, templates
from lnbook.data.sentences import CLASSIFICATIONS, load_labelled, load_pairs

SETS = ("sentence_classification", "sick")
WHOLE = {find(name) for name in SETS} == {"LNLIB_DATA"}  # before a test changes where they are looked for
HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


@pytest.fixture
def nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")


def test_a_file_of_sick_is_read_as_published() -> None:
    lines = (HEADER, '1\tA "b"\tC d\t4.5\tNEUTRAL', "2\tE\tF\t1\tENTAILMENT")
    found = sentences._sick("\n".join(lines))
    assert found.first == ('A "b"', "E")
    assert found.second == ("C d", "F")
    assert found.scores.tolist() == [4.5, 1.0]


def test_sick_is_never_downloaded_unasked(nothing_there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_OFFLINE")
    monkeypatch.setattr("lnbook.data.sources._retrieve", lambda *_: pytest.fail("asked the network"))
    with pytest.warns(StandInWarning, match="yours to accept, so nothing was asked for"):
        parts, provenance = load_pairs()
    assert provenance["name"] == "sentence_templates"
    assert load_pairs("silent")[0].keys() == parts.keys() == {"train", "trial", "test"}
    with pytest.raises(DataError, match=r"CC BY-NC-SA.*lnbook data --download sick"):
        load_pairs("error")


def test_the_labelled_stand_in_is_announced_and_balanced(nothing_there: None) -> None:
    with pytest.warns(StandInWarning, match="sentence_classification is neither.*made from templates"):
        tasks, provenance = load_labelled()
    assert provenance in loaded()
    for task in CLASSIFICATIONS:
        assert Counter(tasks[task].labels.tolist()) == {0: 80, 1: 80}
    with pytest.raises(DataError, match="downloads are off"):
        load_labelled("error")


@pytest.mark.parametrize("task", CLASSIFICATIONS)
def test_the_words_of_a_template_tell_its_label(task: str) -> None:
    texts, labels = templates.labelled(task, 400, seed=7)
    seen = [
        Counter(w for t, y in zip(texts, labels, strict=True) for w in t.split() if y == k) for k in (0, 1)
    ]
    told = [
        any((w in seen[y]) and (w not in seen[1 - y]) for w in t.split())
        for t, y in zip(texts, labels, strict=True)
    ]
    assert all(told)


def test_a_pairs_score_counts_the_slots_that_agree() -> None:
    first, second, scores = templates.pairs(50, seed=0)
    for one, two, score in zip(first, second, scores, strict=True):
        alike = sum(a == b for a, b in zip(one.split(), two.split(), strict=True))
        assert score == 1 + alike - 5  # "a", "is", "a", "in", "the" are in each
    assert Counter(scores) == dict.fromkeys((1.0, 2.0, 3.0, 4.0, 5.0), 10)


def test_published_sets_have_their_known_sizes_where_they_are() -> None:
    names = SETS if WHOLE else ("sentence_templates",) * 2
    tasks, _ = load_labelled("error", name=names[0])
    parts, _ = load_pairs("error", name=names[1])
    sizes = [10_662, 3_771, 10_000, 45_867] if WHOLE else [160] * 4  # 3,775 and 45,875 less the empty lines
    assert [len(tasks[task].texts) for task in CLASSIFICATIONS] == sizes
    assert [len(pairs.scores) for pairs in parts.values()] == (
        [4_500, 500, 4_927] if WHOLE else [200, 50, 100]
    )
    assert all(np.isfinite(pairs.scores).all() and pairs.scores.max() <= 5 for pairs in parts.values())
    if WHOLE:
        assert round(float(tasks["cr"].labels.mean()), 3) == 0.638
        assert not any("<" in text for text in tasks["pros_cons"].texts[:100])
