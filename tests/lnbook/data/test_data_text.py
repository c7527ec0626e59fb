"""Text: tokens, vocabulary and padding; books and their sentences; the sentences that templates make."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data import books, find
from lnbook.data.books import body, load_books, prose, sentences
from lnbook.data.sentences import load_labelled, made_pairs
from lnbook.data.text import EOS, PAD, UNKNOWN, Vocabulary, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I can't; you won’t.", ["i", "ca", "n't", ";", "you", "wo", "n't", "."]),
        ("They're John's, aren't they?", ["they", "'re", "john", "'s", ",", "are", "n't", "they", "?"]),
        ("Zürich costs 3 euros", ["zürich", "costs", "3", "euros"]),
        ("by @entity12 in @placeholder", ["by", "@entity12", "in", "@placeholder"]),
        ("o'clock, a well-known n't", ["o'clock", ",", "a", "well-known", "n't"]),
        ("'quoted'", ["'", "quoted", "'"]),
    ],
)
def test_words_and_signs_are_parted(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_the_most_frequent_words_are_kept_and_ties_go_by_spelling() -> None:
    words = Vocabulary.build([["b", "a", "c"], ["c", "<pad>", "<pad>", "<pad>"]], size=2)
    assert words.words == ("<pad>", "<unk>", "<eos>", "c", "a")
    assert words.encode(["a", "b", "c", "<eos>"]) == [4, UNKNOWN, 3, EOS]
    assert words.decode([3, PAD, UNKNOWN]) == ["c", "<unk>"]


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
    words = iter(books._NOTE.sub("", text).replace("--", " -- ").split())
    assert all(word in words for word in found)  # a subsequence: only whole paragraphs are missing


def test_the_stand_in_is_prose_without_headings_code_and_markup() -> None:
    text = 'Head\n****\n\nA *list*:\n\n   x = f(y)\n\n* The "value" of\n  it.\n\nWith a_name it ends.'
    assert prose(text) == "The value of\nit."
    found = load_books(name="python_topics")
    assert len(found.titles) == len(found.texts) == found.provenance["cases"] > 50
    assert sum(len(sentences(text)) for text in found.texts) > 1500


@pytest.mark.skipif(find("gutenberg") != "LNLIB_DATA", reason="needs the files in $LNLIB_DATA")
def test_the_published_books_are_read_whole() -> None:
    found = load_books("error")
    lines = sentences(dict(zip(found.titles, found.texts, strict=True))["Moby Dick; or The Whale"])
    assert len(lines) >= 8_000
    assert "Call me Ishmael." in lines
    assert not any("Gutenberg" in line for line in lines[50:])


def test_the_words_of_a_template_tell_its_label_and_half_are_of_each() -> None:
    for held in load_labelled(name="sentence_templates")[0].values():
        assert Counter(held.labels.tolist()) == {0: 80, 1: 80}
        pairs = list(zip(held.texts, held.labels, strict=True))
        seen = [{word for text, label in pairs if label == k for word in text.split()} for k in (0, 1)]
        assert all(set(text.split()) & seen[label] - seen[1 - label] for text, label in pairs)


def test_a_pairs_score_counts_the_slots_that_agree() -> None:
    made = made_pairs(50, seed=0)
    for one, two, score in zip(made.first, made.second, made.scores, strict=True):
        alike = sum(a == b for a, b in zip(one.split(), two.split(), strict=True))
        assert score == 1 + alike - 5  # "a", "is", "a", "in", "the" are in each
    assert Counter(made.scores.tolist()) == dict.fromkeys((1.0, 2.0, 3.0, 4.0, 5.0), 10)
