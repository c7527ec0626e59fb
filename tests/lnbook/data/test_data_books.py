"""Books: what is cut from a published text, what counts as a sentence, and where the texts come from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data import books, find
from lnbook.data.books import body, load_books, prose, sentences


def test_a_body_stands_between_the_publishers_words_of_either_age() -> None:
    new = "Title: A\r\n*** START OF THIS PROJECT GUTENBERG EBOOK A ***\r\n\r\nB.\r\n\r\n"
    new += "End of Project Gutenberg's A"
    old = "*Project A*\n*END*THE SMALL PRINT! FOR ETEXTS*Ver.04*END*\n\nB.\n\n*Project Gutenberg Etext of A*"
    assert body(new) == body(old) == "B."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        (
            "Mr. and Mrs. Bennet met Dr. J. Watson. All slept.",
            ["Mr. and Mrs. Bennet met Dr. J. Watson.", "All slept."],
        ),
        ('"Why?" said he. "No." "Yes!"', ['"Why?" said he.', '"No."', '"Yes!"']),
        ("It was I. He knew.", ["It was I.", "He knew."]),
        ("Broken\nover lines--see.\nNext one!", ["Broken over lines -- see.", "Next one!"]),
        ("CHAPTER I. LOOMINGS.\n\nCall me Ishmael.", ["Call me Ishmael."]),
        ("Chapter 3. The Ball.\n\nII. The Hunt.\n\nIt _was_ so.[1]", ["It was so."]),
        ("Contents\n\n  The Mail\n\n* * *\n\nHe said:\n\n'Go.'", ["He said:", "'Go.'"]),
        ("In 1799 it fell. 300 died.", ["In 1799 it fell.", "300 died."]),
        ("", []),
    ],
)
def test_sentences_end_where_readers_say(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text("ab AB.!?\"'\n-[]1", max_size=60))
def test_sentences_keep_words_and_their_order(text: str) -> None:
    found = " ".join(sentences(text)).split()
    plain = books._NOTE.sub("", text)
    words = iter(plain.replace("--", " -- ").split())
    assert all(word in words for word in found)  # a subsequence: only whole paragraphs are missing


def test_prose_leaves_headings_code_and_markup_out() -> None:
    text = 'Head\n****\n\nA *list*:\n\n   x = f(y)\n\n* The "value" of\n  it.\n\nWith a_name it ends.'
    assert prose(text) == "The value of\nit."


def test_the_stand_in_is_prose_in_books() -> None:
    found = load_books(name="python_topics")
    assert len(found.titles) == len(found.texts) == found.provenance["cases"] > 50
    assert found.provenance["source"] == "embedded"
    assert sum(len(sentences(text)) for text in found.texts) > 1500


@pytest.mark.skipif(find("gutenberg") != "LNLIB_DATA", reason="needs the files in $LNLIB_DATA")
def test_the_published_books_are_read_whole() -> None:
    found = load_books("error")
    lines = sentences(dict(zip(found.titles, found.texts, strict=True))["Moby Dick; or The Whale"])
    assert len(lines) >= 8_000
    assert "Call me Ishmael." in lines
    assert not any("Gutenberg" in line for line in lines[50:])
