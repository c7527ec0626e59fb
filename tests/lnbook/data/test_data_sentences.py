"""The sentence sets: published formats, and the generated sentences that stand in for them."""

from collections import Counter

import pytest

from lnbook.data import find, loaded, sentences, templates
from lnbook.data.sentences import CLASSIFICATIONS, load_labelled, load_pairs

SETS = ("sentence_classification", "sick")
HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def test_a_file_of_sick_is_read_as_published() -> None:
    lines = (HEADER, '1\tA "b"\tC d\t4.5\tNEUTRAL', "2\tE\tF\t1\tENTAILMENT")
    found = sentences._sick("\n".join(lines))
    assert found.first == ('A "b"', "E")
    assert found.second == ("C d", "F")
    assert found.scores.tolist() == [4.5, 1.0]


def test_the_labelled_stand_in_is_balanced() -> None:
    tasks, provenance = load_labelled(name="sentence_templates")
    assert provenance in loaded()
    for task in CLASSIFICATIONS:
        assert Counter(tasks[task].labels.tolist()) == {0: 80, 1: 80}


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


@pytest.mark.skipif({find(name) for name in SETS} != {"LNLIB_DATA"}, reason="needs the files in $LNLIB_DATA")
def test_published_sets_have_their_known_sizes() -> None:
    tasks, _ = load_labelled("error")
    parts, _ = load_pairs("error")
    sizes = [10_662, 3_771, 10_000, 45_867]  # 3,775 and 45,875 less the empty lines
    assert [len(tasks[task].texts) for task in CLASSIFICATIONS] == sizes
    assert [len(pairs.scores) for pairs in parts.values()] == [4_500, 500, 4_927]
    assert round(float(tasks["cr"].labels.mean()), 3) == 0.638
    assert not any("<" in text for text in tasks["pros_cons"].texts[:100])
