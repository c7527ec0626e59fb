"""Questions: the parts of a `.question` file, what is refused, and where a passage is cut."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data import DataError
from lnbook.data.questions import (
    Question,
    first_sentences,
    parse_question,
    read_questions,
    split_sentences,
)

FILE = """http://web.archive.org/web/2015/http://www.cnn.com/x

( @entity1 ) @entity0 met @entity3 . she left . it rained . they ate . then @entity0 slept

@placeholder met @entity3

@entity0

@entity0:Ann Lee
@entity1:CNN
@entity3:Bob: the first
"""


def test_a_file_gives_its_five_parts() -> None:
    found = parse_question(FILE, "a.question")
    assert found.source.startswith("http://web")
    assert found.passage[:4] == ("(", "@entity1", ")", "@entity0")
    assert found.query == ("@placeholder", "met", "@entity3")
    assert found.answer == "@entity0"
    assert found.names == {"@entity0": "Ann Lee", "@entity1": "CNN", "@entity3": "Bob: the first"}
    assert found.entities == ("@entity1", "@entity0", "@entity3")


def test_line_ends_of_windows_and_blanks_in_empty_lines_do_not_matter() -> None:
    assert parse_question(FILE.replace("\n", "\r\n")) == parse_question(FILE.replace("\n\n", "\n  \n"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\n\n@entity0\n\n", "\n@entity0\n\n", "4 parts .* has 5"),
        ("@placeholder met", "who met", "no @placeholder"),
        ("\n\n@entity0\n\n", "\n\nAnn\n\n", "the answer is 'Ann', not a marker"),
        ("@entity1:CNN", "@entity1 CNN", "'@entity1 CNN' in the list"),
        ("@entity1:CNN", "@entity0:CNN", "'@entity0:CNN' in the list"),
        ("@entity1:CNN\n", "", "the list of entities lacks @entity1"),
        ("\n\n@entity0\n\n", "\n\n@entity7\n\n", "lacks @entity7"),
    ],
)
def test_a_file_that_is_not_a_question_is_refused_with_its_name_and_the_reason(
    old: str, new: str, message: str
) -> None:
    with pytest.raises(DataError, match=rf"a\.question.*{message}"):
        parse_question(FILE.replace(old, new, 1), "a.question")


def test_a_question_needs_a_passage() -> None:
    with pytest.raises(DataError, match="the passage is empty"):
        Question((), ("@placeholder",), "@entity0")


@pytest.mark.parametrize("ends", [(0, 3), (1, 1, 3), (2, 1, 3), (1, 2), (1, 4)])
def test_ends_of_sentences_rise_to_the_length_of_the_passage(ends: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"end after \(.*\) of 3 tokens; these numbers must rise, from"):
        Question(("a", "b", "."), ("@placeholder",), "@entity0", source="x", ends=ends)


def test_four_sentences_of_the_passage_are_kept(tmp_path: Path) -> None:
    (tmp_path / "b.question").write_text(FILE, encoding="utf-8")
    (tmp_path / "a.question").write_text(FILE.replace("slept", "woke"), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no question", encoding="utf-8")
    whole = list(read_questions(tmp_path))
    assert [q.passage[-1] for q in whole] == ["woke", "slept"]
    (cut,) = read_questions(tmp_path, sentences=4, limit=1)
    assert " ".join(cut.passage).endswith("it rained . they ate .")
    assert cut.names == whole[0].names


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no \*\.question file"):
        next(read_questions(tmp_path))


@given(st.lists(st.sampled_from(["a", ".", "!", "?", '"', "''"]), max_size=30), st.integers(1, 5))
def test_what_is_kept_is_a_beginning_with_that_many_sentence_ends(tokens: list[str], count: int) -> None:
    kept = first_sentences(tokens, count)
    assert list(kept) == tokens[: len(kept)]
    ends = sum(token in (".", "!", "?") for token in kept)
    assert ends == count or (ends < count and len(kept) == len(tokens))
    rest = tokens[len(kept) :]
    assert not rest or rest[0] not in ('"', "''")


@given(st.lists(st.sampled_from(["a", ".", "!", "?", '"', "''"]), max_size=30))
def test_sentences_are_the_whole_text_and_each_but_the_last_has_one_end(tokens: list[str]) -> None:
    found = split_sentences(tokens)
    assert [token for sentence in found for token in sentence] == tokens
    for k, sentence in enumerate(found):
        ends = [n for n, token in enumerate(sentence) if token in (".", "!", "?")]
        assert len(ends) == 1 or (not ends and k == len(found) - 1)
        assert not ends or set(sentence[ends[0] + 1 :]) <= {'"', "''"}
        assert k == 0 or sentence[0] not in ('"', "''")
