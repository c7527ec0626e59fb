"""Experiment 6.3: that it learns; vectors of words and of sentences."""

import numpy as np
import torch

from lnbook.data.sentences import CLASSIFICATIONS
from lnbook.data.text import EOS, Vocabulary
from lnbook.pages.sec6_3_skip_thoughts.corpus import factorized, neighbor_counts, triples
from lnbook.pages.sec6_3_skip_thoughts.experiment import BASELINES, EXPERIMENT, Skipping, corpus_of
from lnbook.pages.sec6_3_skip_thoughts.model import bag_of_words, expanded, random_states, thoughts
from lnbook.pages.sec6_3_skip_thoughts.sentence_tasks import TEMPLATES, encoded, tasks
from lnbook.training import Machine, train

SMOKE = next(job for job in EXPERIMENT.jobs("smoke", 0) if job["norm"] == "layer")


def task(**changes: object) -> Skipping:
    made = EXPERIMENT.task({**SMOKE, **changes}, "smoke", Machine())
    assert isinstance(made, Skipping)
    return made


def test_the_smoke_run_learns_the_books_and_reports_every_row() -> None:
    found = train(task()).rows
    begin, end = found[0], found[-1]
    # log(503) = 6.2 nats per word are a guess among all; normalized states begin loud, and are wrong loudly
    assert end["valid_nats_per_word"] < 5 < np.log(503) - 0.1 < begin["valid_nats_per_word"]
    for kind in ("", *(f"{k}_" for k in BASELINES)):
        for name in CLASSIFICATIONS:
            assert 0 <= end[f"{kind}{name}_accuracy"] <= 1
        assert 0.5 < end[f"{kind}sick_spearman"] <= 1  # a constant guess has 0
    assert end["subj_accuracy"] > 0.9  # two templates without a word in common
    assert end["mr_cases"] == begin["mr_cases"] == 60


def test_a_run_that_is_not_judged_measures_the_books_alone() -> None:
    last = train(task(judged=0, updates=4, rows=2)).rows[-1]
    assert "valid_nats_per_word" in last
    assert not any(name.startswith((*CLASSIFICATIONS, "sick")) for name in last)


def test_vectors_of_sentences_do_not_depend_on_their_company() -> None:
    t = task()
    texts = ["the module is imported", "a class of its own, the value", "the"]
    ids, lengths = encoded(texts, t.text.wide)
    random = random_states(t.text.vectors, 7, torch.Generator().manual_seed(0))
    for encode in (thoughts(t.model, t.text.vectors), bag_of_words(t.text.vectors), random):
        whole = encode(ids, lengths)
        alone = torch.cat([encode(ids[[k], : lengths[k]], lengths[[k]]) for k in range(3)])
        torch.testing.assert_close(whole, alone, rtol=1e-4, atol=1e-6)  # thoughts are float32


def test_words_beyond_the_vocabulary_are_mapped_as_those_inside_are() -> None:
    t = task()
    wide = torch.from_numpy(t.text.vectors).float()
    mapped = wide @ torch.randn(24, 16, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        t.model.words.weight[3:] = mapped[3 : len(t.text.vocabulary)]
    torch.testing.assert_close(expanded(t.model, t.text.vectors)[3:], mapped[3:], rtol=1e-4, atol=1e-4)


def test_a_bag_is_the_mean_of_its_words_and_does_not_know_their_order() -> None:
    vectors = np.array([[0.0, 0.0], [0, 0], [0, 0], [1, 0], [0, 4]])
    ids, lengths = torch.tensor([[3, 4, 2], [4, 3, 2]]), torch.tensor([3, 3])
    np.testing.assert_allclose(bag_of_words(vectors)(ids, lengths), [[1 / 3, 4 / 3]] * 2)


def test_words_of_the_same_company_have_similar_vectors_and_a_lonely_word_none() -> None:
    draw = np.random.default_rng(0)
    # words 0-4 stand among 10-14, words 5-9 among 15-19; 3 and 4 never stand together
    sentences = [
        [int(draw.integers(5 * k, 5 * k + 5)), int(draw.integers(10 + 5 * k, 15 + 5 * k))]
        for k in draw.integers(0, 2, 2000)
    ]
    counts = neighbor_counts([*sentences, [20]], 21, window=1)
    vectors, again = (factorized(counts, 4) for _ in range(2))
    np.testing.assert_array_equal(vectors, again)
    alike = vectors @ vectors.T
    assert alike[3, 4] > 0.9
    assert abs(alike[3, 8]) < 0.2  # the negative control: words of the other company
    np.testing.assert_allclose(np.linalg.norm(vectors[:20], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(vectors[20], 0.0)


def test_triples_have_ends_padding_and_unknown_words_and_cross_no_two_texts() -> None:
    texts = [["a"], ["b", "x"], ["b"]], [["b"], ["a"]]
    found = [x.tolist() for x in triples([*texts], Vocabulary("ab"), longest=3)]
    assert found == [[[3, 2]], [[4, 1, 2]], [[4, 2]], [[2, 3, 2]]]


def test_triples_are_sentences_in_a_row_of_one_book() -> None:
    text = corpus_of(SMOKE, "smoke")
    *sides, lengths = text.train
    before, here, after = (
        [tuple(row[:n]) for row, n in zip(ids.tolist(), lengths[:, k], strict=True)]
        for k, ids in enumerate(sides)
    )
    linked = [k for k in range(len(here) - 1) if after[k] == here[k + 1]]
    assert len(linked) > len(here) / 2
    assert all(before[k + 1] == here[k] for k in linked)
    for ids, n in zip(sides, lengths.T, strict=True):
        assert (ids.gather(1, n[:, None] - 1) == EOS).all()
        assert int(n.min()) >= 2
        assert int(n.max()) == ids.shape[1] <= 30
    judged = [tuple(row[:n]) for row, n in zip(text.valid[1].tolist(), text.valid[3][:, 1], strict=True)]
    assert sum(row in set(here) for row in judged) < 0.2 * len(judged)  # other books; the help repeats itself
    assert text.wide.words[: len(text.vocabulary)] == text.vocabulary.words
    assert text.vectors.shape == (len(text.wide), 24)
    assert not text.vectors[:3].any()


def test_judging_sentences_are_balanced_and_drawn_by_seed() -> None:
    wide = corpus_of(SMOKE, "smoke").wide
    few, same, other = (tasks(wide, TEMPLATES, 40, s) for s in (0, 0, 1))
    assert few.keys() == {*CLASSIFICATIONS, "sick"}
    for name in CLASSIFICATIONS:
        assert few[name][2].float().mean() == 0.5
        assert torch.equal(few[name][0], same[name][0])
    assert not all(few[name][0].equal(other[name][0]) for name in few)
    assert few["sick"][5].bincount().tolist() == [40, 40, 40]
