"""Experiment 6.3: its runs, what it reads, its task, and that it learns."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from lnbook.data import DataError
from lnbook.data.books import Books
from lnbook.data.sentences import Pairs
from lnbook.data.text import EOS
from lnbook.pages.sec6_3_skip_thoughts import reading
from lnbook.pages.sec6_3_skip_thoughts.experiment import (
    BASELINES,
    EXPERIMENT,
    Skipping,
    corpus_of,
)
from lnbook.pages.sec6_3_skip_thoughts.reading import TASKS, corpus, encoded, judges, tasks
from lnbook.pages.sec6_3_skip_thoughts.sentence_vectors import bag_of_words, expanded, random_states, thoughts
from lnbook.training import Machine, train


def job(norm: str = "layer", **changes: object) -> dict[str, object]:
    first = next(j for j in EXPERIMENT.jobs("smoke", 0) if j["norm"] == norm)
    return {**first, "updates": 4, "rows": 2, **changes}


def task(norm: str = "layer", machine: Machine | None = None, **changes: object) -> Skipping:
    made = EXPERIMENT.task(job(norm, **changes), "smoke", machine or Machine())
    assert isinstance(made, Skipping)
    return made


def test_triples_are_sentences_in_a_row_of_one_book() -> None:
    text = corpus_of(job(), "smoke")
    before, here, after, lengths = text.train
    rows = {tuple(row[:n].tolist()): k for k, (row, n) in enumerate(zip(here, lengths[:, 1], strict=True))}
    linked = 0
    for k in range(len(here)):
        following = rows.get(tuple(after[k, : lengths[k, 2]].tolist()))
        if following == k + 1:
            linked += 1
            assert torch.equal(before[k + 1], here[k])
    assert linked > len(here) / 2
    for ids, n in zip((before, here, after), lengths.T, strict=True):
        assert (ids.gather(1, n[:, None] - 1) == EOS).all()
        assert int(n.min()) >= 2
        assert int(n.max()) <= 30
    known = {tuple(row.tolist()) for row in here}
    shared = sum(tuple(row.tolist()) in known for row in text.valid[1])
    assert shared < 0.2 * len(text.valid[1])  # other books; Python's help repeats itself


def test_the_vocabulary_begins_the_wider_one() -> None:
    text = corpus_of(job(), "smoke")
    assert text.wide.words[: len(text.vocabulary)] == text.vocabulary.words
    assert text.vectors.shape == (len(text.wide), 24)
    assert not text.vectors[:3].any()


def test_judging_sentences_are_balanced_and_drawn_by_seed() -> None:
    wide = corpus_of(job(), "smoke").wide
    few, same, other = (tasks(wide, real=False, limit=40, seed=s) for s in (0, 0, 1))
    assert few.keys() == set(TASKS)
    for name in TASKS[:-1]:
        assert few[name][2].float().mean() == 0.5
        assert torch.equal(few[name][0], same[name][0])
    assert not all(few[name][0].equal(other[name][0]) for name in TASKS)
    assert few["sick"][5].bincount().tolist() == [40, 40, 40]


def test_the_smoke_run_learns_the_books_and_reports_every_row() -> None:
    first = EXPERIMENT.jobs("smoke", 0)[1]
    found = train(EXPERIMENT.task(first, "smoke", Machine()), job=first).rows
    begin, end = found[0], found[-1]
    # log(503) = 6.2 nats per word are a guess among all; normalized states begin loud, and are wrong loudly
    assert end["valid_nats_per_word"] < 5 < np.log(503) - 0.1 < begin["valid_nats_per_word"]
    for kind in ("", *(f"{k}_" for k in BASELINES)):
        for name in TASKS[:-1]:
            assert 0 <= end[f"{kind}{name}_accuracy"] <= 1
        assert -1 <= end[f"{kind}sick_spearman"] <= 1
    assert end["subj_accuracy"] > 0.9  # two templates without a word in common
    assert end["mr_cases"] == begin["mr_cases"] == 60


def test_a_run_that_is_not_judged_measures_the_books_alone() -> None:
    last = train(task(judged=0)).rows[-1]
    assert "valid_nats_per_word" in last
    assert not any(name.startswith(TASKS) for name in last)


def some() -> tuple[Tensor, Tensor]:
    return encoded(["the module is imported", "a class of its own, the value", "the"], task().text.wide)


def test_vectors_of_sentences_do_not_depend_on_their_company() -> None:
    t, (ids, lengths) = task(), some()
    table = expanded(t.model, t.text.vectors)
    makers = (
        lambda a, n: thoughts(t.model, table, a, n),
        lambda a, n: bag_of_words(t.text.vectors, a, n),
        lambda a, n: random_states(t.text.vectors, 7, torch.Generator().manual_seed(0), a, n),
    )
    for make in makers:
        whole = make(ids, lengths)
        alone = np.concatenate([make(ids[[k], : lengths[k]], lengths[[k]]) for k in range(3)])
        np.testing.assert_allclose(whole, alone, rtol=1e-4, atol=1e-6)  # thoughts are float32


def test_a_bag_is_the_mean_of_its_words_and_does_not_know_their_order() -> None:
    vectors = np.array([[0.0, 0.0], [0, 0], [0, 0], [1, 0], [0, 4]])
    ids, lengths = torch.tensor([[3, 4, 2], [4, 3, 2]]), torch.tensor([3, 3])
    np.testing.assert_allclose(bag_of_words(vectors, ids, lengths), [[1 / 3, 4 / 3]] * 2)


def test_of_short_topics_all_are_read_whatever_number_of_novels_is_asked_for() -> None:
    few, every = (corpus("python_topics", books, 60, 4, 30) for books in (8, 0))
    assert len(few.train[0]) == len(every.train[0]) > 100


def test_books_without_three_sentences_in_a_row_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Books(("One", "Two"), ("It is short. So is this.", "A cat sat."), {"name": "gutenberg"})
    monkeypatch.setattr(reading, "load_books", lambda on_stand_in, name: short)
    corpus.cache_clear()
    with pytest.raises(DataError, match=r"1 books with 2 sentences hold no three in a row.*read more books"):
        corpus("gutenberg", 0, 10, 1, 20)


def test_each_set_that_judges_is_the_published_one_or_its_stand_in_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    judges.cache_clear()
    assert judges(real=True)[2] == judges(real=False)[2] == ("sentence_templates", "sentence_templates")
    pair = {"train": Pairs(("a",), ("b",), np.ones(1))}
    monkeypatch.setattr(reading, "load_pairs", lambda on_stand_in, name: (pair, {"name": name}))
    judges.cache_clear()
    _, pairs, names = judges(real=True)
    assert (pairs, names) == (pair, ("sentence_templates", "sick"))
    judges.cache_clear()
