"""Experiment 6.3: the network by an explicit loop; that it learns; vectors of words and of sentences."""

import numpy as np
import pytest
import torch
from torch import Tensor

from lnbook.data.sentences import CLASSIFICATIONS
from lnbook.data.text import Vocabulary
from lnbook.pages.sec6_3_skip_thoughts.corpus import TEMPLATES, encoded, tasks, triples, word_vectors
from lnbook.pages.sec6_3_skip_thoughts.experiment import EXPERIMENT, Skipping, corpus_of
from lnbook.pages.sec6_3_skip_thoughts.model import (
    DECODERS,
    SkipThoughts,
    bag_of_words,
    random_states,
    thoughts,
)
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
    for kind in ("", "untrained_", "random_", "bag_"):
        for name in CLASSIFICATIONS:
            assert 0 <= end[f"{kind}{name}_accuracy"] <= 1
        assert 0.5 < end[f"{kind}sick_spearman"] <= 1  # a constant guess has 0
    assert end["subj_accuracy"] > 0.9  # two templates without a word in common
    assert end["mr_cases"] == begin["mr_cases"] == 60
    assert task(judged=0).last_parts.keys() == {"valid"}


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
    ids, lengths = torch.arange(3, len(wide))[:, None], torch.ones(len(wide) - 3, dtype=torch.int64)
    with torch.no_grad():
        t.model.words.weight[3:] = mapped[3 : len(t.text.vocabulary)]
        found = thoughts(t.model, t.text.vectors)(ids, lengths)
        expected = t.model.encode(ids, lengths, mapped)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


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
    vectors, again = (word_vectors([*sentences, [20]], 21, 4, window=1) for _ in range(2))
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


def test_the_corpus_validates_on_other_books_and_its_vectors_are_of_more_words() -> None:
    text = corpus_of(SMOKE, "smoke")
    here, judged = (
        [tuple(row[:n]) for row, n in zip(ids.tolist(), lengths[:, 1], strict=True)]
        for _, ids, _, lengths in (text.train, text.valid)
    )
    assert sum(row in set(here) for row in judged) < 0.2 * len(judged)  # the help repeats itself
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


def nats_by_hand(m: SkipThoughts, ids: list[int], thought: Tensor, side: int) -> float:
    """One sentence, word by word: the thought is seen at each step, or is the first state."""
    gru = m.decoders[side]
    each = gru.input_size > 3
    state = None if each else thought[None, None]
    seen, total = torch.zeros(3, dtype=torch.float64), 0.0
    for word in ids:
        out, state = gru((torch.cat([seen, thought]) if each else seen)[None, None], state)
        total -= float(m.output(out[0, 0]).log_softmax(0)[word])
        seen = m.words.weight[word]
    return total


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("norm", ["none", "layer"])
def test_both_decoders_are_shown_the_thought_as_an_explicit_loop_says(norm: str, decoder: str) -> None:
    draw = torch.Generator().manual_seed(0)
    m = SkipThoughts(11, 3, 4, norm=norm, generator=draw, decoder=decoder).double()
    before = torch.tensor([[3, 4, 2, 0], [5, 6, 7, 2], [2, 0, 0, 0]])
    here = torch.tensor([[8, 2, 0], [9, 10, 2], [3, 2, 0]])
    after = torch.tensor([[2, 0], [4, 2], [5, 2]])
    lengths = torch.tensor([[3, 2, 1], [4, 3, 2], [1, 2, 2]])
    with torch.no_grad():
        for name, p in m.named_parameters():  # biases and gains too, so that nothing can hide
            if "bias" in name or "gain" in name:
                p.add_(0.3 * torch.randn(p.shape, generator=draw, dtype=p.dtype))
        found = m(before, here, after, lengths)
        for n in range(3):
            thought = m.encoder(m.words.weight[here[n, : lengths[n, 1]]][:, None])[1][0, 0]
            torch.testing.assert_close(m.encode(here, lengths[:, 1])[n], thought, rtol=1e-10, atol=1e-12)
            for side, ids in ((0, before), (1, after)):
                words = ids[n, : lengths[n, 2 * side]].tolist()
                by_hand = nats_by_hand(m, words, thought, side)
                assert float(found[n, side]) == pytest.approx(by_hand, rel=1e-10)


@pytest.mark.parametrize(("initial", "wider"), [("printed", (1, 1)), ("scaled", (10**0.5, 100**0.5))])
def test_initial_weights_are_the_papers_or_as_much_wider_as_there_are_fewer_inputs(
    initial: str, wider: tuple[float, float]
) -> None:
    draw = torch.Generator().manual_seed(0)
    m = SkipThoughts(500, 62, 24, norm="none", generator=draw, initial=initial).requires_grad_(False)
    # uniform within a: the greatest of more than 1,700 lies between 0.99 a and a
    assert 0.99 < float(m.words.weight.abs().max()) / 0.1 <= 1
    assert 0.99 < float(m.encoder.weight_ih_l0.abs().max()) / (0.1 * wider[0]) <= 1
    assert 0.99 < float(m.decoders[0].weight_ih_l0[:, 62:].abs().max()) / (0.1 * wider[1]) <= 1
    gate = m.encoder.weight_hh_l0[:24]
    torch.testing.assert_close(gate @ gate.T, torch.eye(24), rtol=0, atol=1e-5)  # float32
