"""Skip-thoughts' triples of a corpus on disk: those that the corpus in memory has."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from lnbook.data import DataError
from lnbook.data.text import Vocabulary, tokenize
from lnbook.pages.sec6_3_skip_thoughts import reading, stored
from lnbook.pages.sec6_3_skip_thoughts.experiment import EXPERIMENT, corpus_of
from lnbook.pages.sec6_3_skip_thoughts.stored import StoredCorpus
from lnbook.pages.sec6_3_skip_thoughts.word_vectors import word_vectors
from lnbook.training import Machine, train

LONGEST = 7


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    """Two books of lines with up to ten words, some of them empty."""
    draw = np.random.default_rng(0)
    words = [f"w{k}" for k in range(40)]
    return [
        [" ".join(draw.choice(words, size=draw.choice([0, 2, 3, 4, 5, 6, 10]))) for _ in range(count)]
        for count in (400, 200)
    ]


@pytest.fixture
def root(tmp_path: Path, texts: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder with BookCorpus."""
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    (tmp_path / "bookcorpus").mkdir()
    for k, text in enumerate(texts, 1):
        (tmp_path / "bookcorpus" / f"books_large_p{k}.txt").write_text("".join(f"{x}\n" for x in text))
    stored.corpus.cache_clear()
    yield tmp_path
    stored.corpus.cache_clear()


def in_memory(texts: list[list[str]], held: int, vocabulary: Vocabulary) -> tuple[torch.Tensor, ...]:
    """The triples to learn from, by the code that reads novels."""
    tokens = [[tokenize(line) for line in text] for text in texts]
    return reading._triples([tokens[0], tokens[1][:-held]], vocabulary, LONGEST)


@pytest.mark.parametrize("world", [1, 2])
def test_batches_from_disk_are_those_of_the_triples_in_memory(
    root: Path, texts: list[list[str]], world: int
) -> None:
    found = stored.corpus(8, 4, LONGEST)
    held = found.store.held
    assert held == 50
    whole = in_memory(texts, held, found.vocabulary)
    plain = reading.Corpus(found.vocabulary, found.wide, found.vectors, whole, whole, {})
    assert len(whole[0]) == len(found.starts) > 100
    for rank in range(world):
        orders = [torch.Generator().manual_seed(3) for _ in range(2)]
        pairs = [
            corpus.batches(16, order, rank=rank, world=world)
            for corpus, order in zip((plain, found), orders, strict=True)
        ]
        for _ in range(len(whole[0]) // 16 + 3):  # into the next epoch
            for a, b in zip(*map(next, pairs), strict=True):
                assert torch.equal(a, b)
        assert pairs[0].state_dict()["position"] == pairs[1].state_dict()["position"]


def test_unknown_words_and_the_first_triples_are_as_in_memory(root: Path, texts: list[list[str]]) -> None:
    found = stored.corpus(8, 4, LONGEST)
    whole = in_memory(texts, found.store.held, found.vocabulary)
    assert len(found.vocabulary) == 11 < len(found.wide) == 35
    for a, b in zip(whole, found.train, strict=True):
        assert torch.equal(a, b)
    assert found.train[1].max() < 11
    tokens = [tokenize(line) for line in texts[1][-50:]]
    for a, b in zip(reading._triples([tokens], found.vocabulary, LONGEST), found.valid, strict=True):
        assert torch.equal(a, b)


def test_word_vectors_are_those_of_all_sentences_at_once(
    root: Path, texts: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "CHUNK", 37)
    found = stored.corpus(8, 4, LONGEST)
    known = [tokenize(line) for line in [*texts[0], *texts[1][:-50]]]
    expected = word_vectors([found.wide.encode(sentence) for sentence in known], len(found.wide), 4)
    expected[:3] = 0
    np.testing.assert_allclose(found.vectors, expected, atol=1e-10)  # counts are exact, the iteration is not
    monkeypatch.setattr(stored, "COUNTED", 100)
    stored.corpus.cache_clear()
    assert np.abs(stored.corpus(8, 4, LONGEST).vectors - found.vectors).max() > 0.1


def test_the_papers_scale_reads_bookcorpus_where_it_is_and_novels_elsewhere(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = {**EXPERIMENT.jobs("paper", 0)[0], "words": 8, "vectors": 4, "longest": LONGEST}
    assert EXPERIMENT.data(job, "paper")[0] == "bookcorpus"
    assert EXPERIMENT.data(job, "study")[0] == "gutenberg"
    text = corpus_of(job, "paper")
    assert isinstance(text, StoredCorpus)
    assert text.provenance["name"] == "bookcorpus"
    (root / "bookcorpus").rename(root / "elsewhere")
    assert EXPERIMENT.data(job, "paper")[0] == "gutenberg"


def test_a_run_learns_from_the_disk(root: Path) -> None:
    job = {**EXPERIMENT.jobs("paper", 0)[0], "words": 8, "vectors": 4, "longest": LONGEST, "judged": 0}
    job |= {"size": 4, "units": 8, "batch_size": 16, "updates": 30, "rows": 2, "rate": 0.01}
    rows = train(EXPERIMENT.task(job, "paper", Machine()), job=job).rows
    assert rows[-1]["valid_nats_per_word"] < rows[0]["valid_nats_per_word"]


def test_lines_that_are_no_sentences_are_refused(root: Path) -> None:
    for path in (root / "bookcorpus").iterdir():
        path.write_text("one word after the other and no end\n" * 100)
    with pytest.raises(DataError, match=r"of bookcorpus hold no three in a row of fewer than 7 words; put"):
        stored.corpus(8, 4, LONGEST)
