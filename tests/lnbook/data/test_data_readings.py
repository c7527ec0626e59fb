"""Questions as tensors: what each number is, the split, the user's CNN folder, and the stand-in."""

from pathlib import Path

import pytest
import torch

from lnbook.data import DataError, StandInWarning, lookup
from lnbook.data import readings as module
from lnbook.data.books import Books
from lnbook.data.questions import Question
from lnbook.data.readings import FIRST_MARKER, encode, load_readings

QUESTION = """http://cnn

@entity7 met @entity12 . @entity7 left . it rained . they ate . @entity12 slept .

@placeholder met @entity12

@entity7

@entity7:Ann
@entity12:Bob
"""


@pytest.fixture(autouse=True)
def fresh() -> None:
    load_readings.cache_clear()


def book(name: str, turns: int) -> str:
    """Paragraphs in which two people meet; every fifth sentence can be asked for."""
    told = [f"Then old {name} met poor Harriet{' again' * (k % 3)}.\n\nIt rained.\n\n" for k in range(turns)]
    return "".join(told)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    books = Books(("One", "Two"), (book("Emma", 60), book("Jane", 60)), {"name": "x", "source": "LNLIB_DATA"})
    monkeypatch.setattr(module, "load_books", lambda on_stand_in: books)


def test_numbers_are_those_of_the_vocabulary_and_answers_count_from_zero() -> None:
    q = Question(("@entity1", "sold", "it", "."), ("@placeholder", "sold", "?"), "@entity1")
    short = Question(("@entity0", "sold", "."), ("@placeholder", "left"), "@entity0")
    found = encode([q], [short], markers=2, words=3, provenance={})
    passages, lengths, queries, query_lengths, answers = found.train
    assert found.vocabulary.words[3 : FIRST_MARKER + 2] == ("@placeholder", "@entity0", "@entity1")
    assert found.vocabulary.decode(passages[0].tolist()) == [
        "@entity1",
        "sold",
        "<unk>",
        ".",
    ]  # a tie: spelling
    assert lengths.tolist() == [4]
    assert (queries.tolist(), query_lengths.tolist()) == ([[3, *found.vocabulary.encode(["sold", "?"])]], [3])
    assert answers.tolist() == [1]
    assert found.valid[4].tolist() == [0]
    assert found.longest == 4


def test_stories_are_read_without_files_and_with_six_markers() -> None:
    found = load_readings("stories", limit=100)
    assert found.markers == 6
    passages, lengths, _, _, answers = found.valid
    assert lengths.tolist() == sorted(lengths.tolist())
    for row, length, answer, q in zip(passages, lengths, answers, found.questions, strict=True):
        assert found.vocabulary.decode(row.tolist()) == list(q.passage)
        assert row.count_nonzero() == length
        assert q.answer == f"@entity{answer}"
    assert found.provenance["cases"] == 200


@pytest.mark.usefixtures("library")
def test_the_last_tenth_of_each_book_is_for_validation() -> None:
    found = load_readings("gutenberg", markers=4)
    assert {q.source for q in found.questions} == {"One", "Two"}
    assert len(found.train[0]) > 5 * len(found.valid[0]) > 0
    assert {name for q in found.questions for name in q.names.values()} == {"Emma", "Jane", "Harriet"}
    assert int(found.train[4].max()) <= 3
    one = load_readings("gutenberg", markers=4, titles=("One",))
    assert {q.source for q in one.questions} == {"One"}


@pytest.mark.usefixtures("library")
def test_a_limit_spreads_over_all_questions() -> None:
    found = load_readings("gutenberg", limit=4)
    assert len(found.train[0]) == len(found.valid[0]) == 4
    assert {q.source for q in found.questions} == {"One", "Two"}


def test_without_books_the_stories_serve_and_are_all_that_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    monkeypatch.setattr(lookup, "_loaded", [])
    load_readings.cache_clear()
    with pytest.warns(StandInWarning, match="in their place: questions about generated stories"):
        found = load_readings("gutenberg", limit=20)
    assert found.provenance["name"] == "stories"
    assert found.provenance["requested"] == "gutenberg"
    assert found.markers == 6
    (read,) = lookup.loaded()  # and not Python's help, which stands in for books elsewhere
    assert (read["name"], read["requested"]) == ("stories", "gutenberg")
    load_readings.cache_clear()
    with pytest.raises(DataError, match="gutenberg is neither in"):
        load_readings("gutenberg", limit=20, on_stand_in="error")


def test_damaged_books_are_an_error_and_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gutenberg").mkdir()
    (tmp_path / "gutenberg" / "gutenberg_books.tar.gz").write_bytes(b"no archive")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    load_readings.cache_clear()
    with pytest.raises(DataError, match="gutenberg_books"):
        load_readings("gutenberg", on_stand_in="silent")


def test_the_users_cnn_questions_keep_four_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    for part in ("training", "validation"):
        folder = tmp_path / "cnn" / "questions" / part
        folder.mkdir(parents=True)
        (folder / "a.question").write_text(QUESTION, encoding="utf-8")
    found = load_readings("cnn", markers=3)
    assert found.provenance["source"] == "LNLIB_DATA"
    (passage,), (length,) = found.train[:2]
    words = found.vocabulary.decode(passage.tolist())
    assert words[1:2] + words[3:] == "met . @ left . it rained . they ate .".replace("@", words[0]).split()
    assert length == 13
    assert words[0] == f"@entity{int(found.train[4])}"
    assert torch.equal(found.train[1], found.valid[1])


def test_without_cnns_folder_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    with pytest.raises(DataError, match=r"unpack the DeepMind Q&A data"):
        load_readings("cnn")


def test_another_name_is_refused() -> None:
    with pytest.raises(DataError, match="not 'squad'"):
        load_readings("squad")
