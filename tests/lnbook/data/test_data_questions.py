"""Questions: the parts of a `.question` file, what is refused, and where a passage is cut."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data import DataError
from lnbook.data.questions import parse_question, read_questions, split_sentences

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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\n\n@entity0\n\n", "\n@entity0\n\n", "4 parts .* has 5"),
        ("@placeholder met", "who met", "must have @placeholder"),
        ("@entity1:CNN\n", "", "list of entities the answer and all markers"),
        ("\n\n@entity0\n\n", "\n\nAnn\n\n", "list of entities the answer and all markers"),
    ],
)
def test_a_file_that_is_not_a_question_is_refused_with_its_name_and_the_reason(
    old: str, new: str, message: str
) -> None:
    with pytest.raises(DataError, match=rf"a\.question.*{message}"):
        parse_question(FILE.replace(old, new, 1), "a.question")


def test_files_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "b.question").write_text(FILE, encoding="utf-8")
    (tmp_path / "a.question").write_text(
        FILE.replace("slept", "woke").replace("\n", "\r\n"), encoding="utf-8"
    )
    (tmp_path / "notes.txt").write_text("no question", encoding="utf-8")
    whole = list(read_questions(tmp_path))
    assert [q.passage[-1] for q in whole] == ["woke", "slept"]
    with pytest.raises(DataError, match=r"holds no \*\.question file"):
        next(read_questions(tmp_path / "nowhere"))


@given(st.lists(st.sampled_from(["a", ".", "!", "?", '"', "''"]), max_size=30))
def test_sentences_are_the_whole_text_and_each_but_the_last_has_one_end(tokens: list[str]) -> None:
    found = split_sentences(tokens)
    assert [token for sentence in found for token in sentence] == tokens
    for k, sentence in enumerate(found):
        ends = [n for n, token in enumerate(sentence) if token in (".", "!", "?")]
        assert len(ends) == 1 or (not ends and k == len(found) - 1)
        assert not ends or set(sentence[ends[0] + 1 :]) <= {'"', "''"}
        assert k == 0 or sentence[0] not in ('"', "''")
