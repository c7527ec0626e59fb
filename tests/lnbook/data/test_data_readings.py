"""Questions as tensors: what each number is, the split, the user's CNN folder, and the stand-in."""

from pathlib import Path

import pytest

from lnbook.data import DataError, StandInWarning, loaded
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
    """Paragraphs in which two people meet; every fifth sentence can be asked about."""
    told = [f"Then old {name} met poor Harriet{' again' * (k % 3)}.\n\nIt rained.\n\n" for k in range(turns)]
    return "".join(told)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    books = Books(("One", "Two"), (book("Emma", 60), book("Jane", 60)), {"name": "x", "source": "LNLIB_DATA"})
    monkeypatch.setattr(module, "load_books", lambda on_stand_in: books)


def cnn(folder: Path, **parts: str) -> None:
    for part, text in parts.items():
        place = folder / "cnn" / "questions" / part
        place.mkdir(parents=True)
        (place / "a.question").write_text(text, encoding="utf-8")


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
    load_readings.cache_clear()
    with pytest.warns(StandInWarning, match=r"gutenberg is neither in .* In their place: generated stories"):
        found = load_readings("gutenberg", limit=20)
    assert found.provenance["name"] == "stories"
    assert found.provenance["requested"] == "gutenberg"
    assert found.markers == 6
    (read,) = loaded()  # and not Python's help, which stands in for books elsewhere
    assert (read["name"], read["requested"]) == ("stories", "gutenberg")


def test_damaged_books_are_an_error_and_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gutenberg").mkdir()
    (tmp_path / "gutenberg" / "gutenberg_books.tar.gz").write_bytes(b"no archive")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    load_readings.cache_clear()
    with pytest.raises(DataError, match="gutenberg_books"):
        load_readings("gutenberg")
    with pytest.raises(DataError, match="not 'books'"):
        load_readings("books")


def test_of_the_users_cnn_passages_the_sentences_are_kept_that_share_rare_words_with_the_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    cnn(tmp_path, training=QUESTION, validation=QUESTION)
    found = load_readings("cnn", markers=3)
    assert found.provenance["source"] == "LNLIB_DATA"
    words = " ".join(found.questions[0].passage)
    # Bob, whom the query names, woke and slept: more than the sentences of rain and food, of which the first
    Ann, Bob = found.questions[0].answer, found.questions[0].query[-1]
    assert words == f"{Ann} met {Bob} . {Ann} left . it rained . {Bob} slept ."
    assert found.train[1].tolist() == [len(words.split())]


def test_words_are_rare_by_the_queries_of_training_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(query: str) -> str:
        return (
            f"http://cnn\n\none won . two won . three won . four won . @entity0 sat .\n\n{query}\n\n@entity0"
            "\n\n@entity0:Ann\n"
        )

    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    cnn(tmp_path, training=asked("@placeholder won"), validation=asked("@placeholder won and sat"))
    found = load_readings("cnn", markers=3)
    # "won", in all training queries, says nothing: of the sentences with it the last is left out
    assert " ".join(found.questions[0].passage).startswith("one won . two won . three won . @entity")


def test_without_cnns_folder_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    with pytest.raises(DataError, match=r"unpack the DeepMind Q&A data"):
        load_readings("cnn")
