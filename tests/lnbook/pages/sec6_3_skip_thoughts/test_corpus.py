"""What skip-thoughts read: triples of books, a user's BookCorpus, word2vec and MPQA, and the judging sets."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from lnbook.data import DataError
from lnbook.data.books import Books
from lnbook.data.text import EOS
from lnbook.pages.sec6_3_skip_thoughts import corpus as books
from lnbook.pages.sec6_3_skip_thoughts import judges
from lnbook.pages.sec6_3_skip_thoughts.corpus import corpus, corpus_of, widened
from lnbook.pages.sec6_3_skip_thoughts.experiment import EXPERIMENT
from lnbook.training import LengthBatches, Machine, train

Job = dict[str, object]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's empty folder, and no other data; scale "paper" reads Python's help in place of novels."""
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    monkeypatch.setitem(books.BOOKS, "paper", "python_topics")
    for cache in (corpus, judges.judges, judges.tasks):
        cache.cache_clear()
    yield tmp_path
    for cache in (corpus, judges.judges, judges.tasks):
        cache.cache_clear()


def job(**changes: object) -> Job:
    small = next(j for j in EXPERIMENT.jobs("smoke", 0) if j["norm"] == "layer")
    return {**small, "updates": 2, "rows": 1, **changes}


def test_triples_are_sentences_in_a_row_of_one_book() -> None:
    text = corpus_of(job(), "smoke")
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
        assert int(n.max()) <= 30
    judged = [tuple(row[:n]) for row, n in zip(text.valid[1].tolist(), text.valid[3][:, 1], strict=True)]
    assert sum(row in set(here) for row in judged) < 0.2 * len(judged)  # other books; the help repeats itself
    assert text.wide.words[: len(text.vocabulary)] == text.vocabulary.words
    assert text.vectors.shape == (len(text.wide), 24)
    assert not text.vectors[:3].any()


@pytest.mark.parametrize("world", [1, 2])
def test_gathered_batches_are_those_of_the_triples_in_memory(world: int) -> None:
    text = corpus_of(job(), "smoke")
    assert len(text.train[0]) == len(text.starts)
    for rank in range(world):
        one, other = (torch.Generator().manual_seed(3) for _ in range(2))
        share = {"rank": rank, "world": world}
        found = text.batches(16, one, **share)
        plain = LengthBatches(text.train, text.train[3], 16, other, cut=[0, 1, 2], **share)
        for _ in range(len(text.starts) // 16 + 3):  # into the next epoch
            assert all(map(torch.equal, next(found), next(plain)))


def test_word_vectors_count_the_neighbors_of_all_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.cache_clear()
    whole = corpus_of(job(), "smoke").vectors
    monkeypatch.setattr(books, "CHUNK", 370)
    corpus.cache_clear()
    np.testing.assert_allclose(corpus_of(job(), "smoke").vectors, whole, atol=1e-10)


def test_books_without_three_sentences_in_a_row_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Books(("One", "Two"), ("It is short. So is this.", "A cat sat."), {"name": "gutenberg"})
    monkeypatch.setattr(books, "load_books", lambda on_stand_in, name: short)
    corpus.cache_clear()
    with pytest.raises(DataError, match=r"of gutenberg hold no three in a row of fewer than 20 words; read"):
        corpus("gutenberg", 0, 10, 1, 20)


def test_the_papers_scale_learns_from_bookcorpus_where_it_is(root: Path) -> None:
    draw = np.random.default_rng(0)
    (root / "bookcorpus").mkdir()
    for part, count in ((1, 400), (2, 200)):
        lines = [
            " ".join(draw.choice(list("abcdefghijkl"), size=draw.choice([0, 2, 5, 9]))) for _ in range(count)
        ]
        (root / "bookcorpus" / f"books_large_p{part}.txt").write_text("\n".join(lines))
    small = {**EXPERIMENT.jobs("paper", 0)[0], "words": 8, "vectors": 4, "longest": 7, "judged": 0}
    small |= {"size": 4, "units": 8, "batch_size": 16, "updates": 30, "rows": 2, "rate": 0.01}
    assert EXPERIMENT.data(small, "paper") == ["bookcorpus"]
    assert EXPERIMENT.data(small, "study") == ["gutenberg"]
    assert corpus_of(small, "paper").provenance["name"] == "bookcorpus"
    rows = train(EXPERIMENT.task(small, "paper", Machine()), job=small).rows
    assert rows[-1]["valid_nats_per_word"] < rows[0]["valid_nats_per_word"]


def save(root: Path, words: list[str], size: int = 5) -> np.ndarray:
    """The user's word2vec with these words; their vectors."""
    made = np.random.default_rng(1).normal(size=(len(words), size)).astype("<f4")
    rows = [w.encode() + b" " + v.tobytes() + b"\n" for w, v in zip(words, made, strict=True)]
    (root / "word2vec").mkdir(exist_ok=True)
    (root / "word2vec" / "small.bin").write_bytes(f"{len(words)} {size}\n".encode() + b"".join(rows))
    return made


def test_word2vec_widens_the_vocabulary_by_the_judged_words_that_it_has(root: Path) -> None:
    text = corpus("python_topics", 0, 60, 0, 30)
    own = text.vocabulary.words[3:]
    made = save(root, [*own[:20], "zebra", "unasked", "quagga"])
    found = widened(text, {"quagga", "zebra", "dodo", own[3]})
    assert found.wide.words == (*text.vocabulary.words, "quagga", "zebra")
    assert found.vocabulary is text.vocabulary
    np.testing.assert_array_equal(found.vectors[3:23], made[:20])
    assert not found.vectors[:3].any()
    assert not found.vectors[23:63].any()  # words of the network that word2vec lacks
    np.testing.assert_array_equal(found.vectors[63:], made[[22, 20]])
    save(root, [*own[:4], "zebra"])
    with pytest.raises(
        DataError, match=r"small\.bin has 4 of the network's 60 words; a map from 5 .* least 5"
    ):
        widened(text, {"zebra"})


def test_the_papers_scale_is_judged_with_word2vec_and_mpqa_where_they_are(root: Path) -> None:
    assert EXPERIMENT.data(job(), "paper") == ["python_topics", "sentence_classification", "sick"]
    (root / "mpqa").mkdir()
    for name, word in (("mpqa.pos", "class"), ("mpqa.neg", "module")):
        (root / "mpqa" / name).write_text("".join(f"the {word} is {k}\n" for k in range(30)))
    words = {*corpus("python_topics", 0, 500, 24, 30).wide.words[3:]}
    save(root, sorted(words | judges.judged_words(judges.sets_of("paper"))))
    assert EXPERIMENT.data(job(), "paper")[1:] == ["word2vec", "sentence_classification", "sick", "mpqa"]
    assert not {"word2vec", "mpqa"} & {*EXPERIMENT.data(job(), "study")}
    task = EXPERIMENT.task(job(), "paper", Machine())
    assert not torch.any(task.parts["subj"][0] == 1)  # nothing is unknown
    last = train(task).rows[-1]
    assert last["mpqa_cases"] == 60
    assert last["bag_mpqa_accuracy"] > 0.9  # a word tells the class
    assert not any("pros_cons" in name for name in last)


def test_judging_sentences_are_balanced_and_drawn_by_seed() -> None:
    wide = corpus_of(job(), "smoke").wide
    few, same, other = (judges.tasks(wide, judges.sets_of("smoke"), 40, s) for s in (0, 0, 1))
    assert few.keys() == set(judges.TASKS)
    for name in judges.TASKS[:-1]:
        assert few[name][2].float().mean() == 0.5
        assert torch.equal(few[name][0], same[name][0])
    assert not all(few[name][0].equal(other[name][0]) for name in judges.TASKS)
    assert few["sick"][5].bincount().tolist() == [40, 40, 40]
