"""A vocabulary widened by word2vec where a user has it: the words, the map, and the runs that use them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from lnbook.data import DataError
from lnbook.pages.sec6_3_skip_thoughts import reading, sources
from lnbook.pages.sec6_3_skip_thoughts.experiment import EXPERIMENT, Skipping
from lnbook.pages.sec6_3_skip_thoughts.reading import corpus
from lnbook.pages.sec6_3_skip_thoughts.sentence_vectors import expanded
from lnbook.pages.sec6_3_skip_thoughts.widening import widened
from lnbook.training import Machine, train

SIZE = 5


def save(root: Path, words: Sequence[str], size: int = SIZE) -> np.ndarray:
    """The user's word2vec with these words; their vectors."""
    made = np.random.default_rng(1).normal(size=(len(words), size)).astype("<f4")
    rows = [w.encode() + b" " + v.tobytes() + b"\n" for w, v in zip(words, made, strict=True)]
    (root / "word2vec").mkdir(exist_ok=True)
    (root / "word2vec" / "small.bin").write_bytes(f"{len(words)} {size}\n".encode() + b"".join(rows))
    return made


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, and no other data; "paper" reads Python's help and sentences from templates."""
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    monkeypatch.setitem(sources.BOOKS, "paper", "python_topics")
    caches = (reading.judges, reading.tasks)
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    for cache in caches:
        cache.cache_clear()


def job(**changes: object) -> dict[str, object]:
    small = next(j for j in EXPERIMENT.jobs("smoke", 0) if j["norm"] == "layer")
    return {**small, "updates": 2, "rows": 1, **changes}


def test_the_words_of_judged_sentences_are_added_and_those_without_a_vector_are_not(root: Path) -> None:
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


def test_the_map_is_fitted_to_the_shared_words_alone(root: Path) -> None:
    text = corpus("python_topics", 0, 60, 0, 30)
    own = text.vocabulary.words[3:]
    made = save(root, [*own[:20], "zebra"])
    found = widened(text, {"zebra"})
    task = Skipping(found, {}, Machine(), job(size=4))
    table = task.model.words.weight.detach().double().numpy()
    solution = np.linalg.inv(made[:20].T @ made[:20]) @ made[:20].T @ table[3:23]  # the normal equations
    np.testing.assert_allclose(
        expanded(task.model, found.vectors)[63].numpy(),
        made[20] @ solution,
        atol=1e-5,  # the table is float32
    )


def test_too_few_shared_words_determine_no_map(root: Path) -> None:
    text = corpus("python_topics", 0, 60, 0, 30)
    save(root, [*text.vocabulary.words[3:7], "zebra"])
    with pytest.raises(
        DataError, match=r"small\.bin has 4 of the network's 60 words; a map from 5 .* at least 5"
    ):
        widened(text, {"zebra"})


def test_the_papers_scale_takes_word2vec_where_it_is_and_no_other_scale_does(root: Path) -> None:
    words = [*corpus("python_topics", 0, 500, 24, 30).wide.words[3:], "splendid"]
    assert "word2vec" not in EXPERIMENT.data(job(), "paper")
    save(root, words)
    assert EXPERIMENT.data(job(), "paper")[1] == "word2vec"
    assert "word2vec" not in EXPERIMENT.data(job(), "study")
    assert sources.corpus_of(job(), "smoke").vectors.shape[1] == 24
    text = sources.corpus_of(job(), "paper")
    assert text.vectors.shape == (len(text.wide), SIZE)
    assert set(text.wide.words[3:]) <= set(words)
    judged = reading.judged_words(real=True)
    assert set(text.wide.words[len(text.vocabulary) :]) == judged & set(words) - set(text.vocabulary.words)


def test_a_run_is_judged_with_the_widened_vocabulary(root: Path) -> None:
    words = corpus("python_topics", 0, 500, 24, 30).wide.words[3:]
    save(root, [*words, *sorted(reading.judged_words(real=True) - set(words))])
    task = EXPERIMENT.task(job(), "paper", Machine())
    last = train(task).rows[-1]
    assert 0 <= last["mr_accuracy"] <= 1
    assert last["bag_subj_accuracy"] > 0.9  # no word in common, and now each has a vector of its own
    ids = task.parts["subj"][0]
    assert not torch.any(ids == 1)  # nothing is unknown
