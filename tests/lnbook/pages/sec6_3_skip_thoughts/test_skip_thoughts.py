"""Experiment 6.3: that it learns, and vectors of sentences."""

import numpy as np
import torch

from lnbook.pages.sec6_3_skip_thoughts.experiment import BASELINES, EXPERIMENT, Skipping
from lnbook.pages.sec6_3_skip_thoughts.judges import TASKS, encoded
from lnbook.pages.sec6_3_skip_thoughts.sentence_vectors import bag_of_words, expanded, random_states, thoughts
from lnbook.training import Machine, train


def task(**changes: object) -> Skipping:
    first = next(j for j in EXPERIMENT.jobs("smoke", 0) if j["norm"] == "layer")
    made = EXPERIMENT.task({**first, **changes}, "smoke", Machine())
    assert isinstance(made, Skipping)
    return made


def test_the_smoke_run_learns_the_books_and_reports_every_row() -> None:
    found = train(task()).rows
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
    last = train(task(judged=0, updates=4, rows=2)).rows[-1]
    assert "valid_nats_per_word" in last
    assert not any(name.startswith(TASKS) for name in last)


def test_vectors_of_sentences_do_not_depend_on_their_company() -> None:
    t = task()
    texts = ["the module is imported", "a class of its own, the value", "the"]
    ids, lengths = encoded(texts, t.text.wide)
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
