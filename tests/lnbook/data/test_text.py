"""Tokens, vocabulary and padding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data.text import EOS, PAD, UNKNOWN, Vocabulary, pad, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("  One,\ttwo\n", ["one", ",", "two"]),
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


@given(text=st.text(max_size=60))
def test_nothing_but_blanks_is_lost(text: str) -> None:
    joined = "".join(tokenize(text))
    assert joined == "".join(text.lower().replace("’", "'").split())


def test_the_most_frequent_words_are_kept_and_ties_go_by_spelling() -> None:
    words = Vocabulary.build([["b", "a", "c"], ["c", "<pad>", "<pad>", "<pad>"]], size=2)
    assert words.words == ("<pad>", "<unk>", "<eos>", "c", "a")
    assert words.encode(["a", "b", "c", "<eos>"]) == [4, UNKNOWN, 3, EOS]
    assert words.decode([3, PAD, UNKNOWN]) == ["c", "<unk>"]
    assert "a" in words
    assert "b" not in words


@given(st.lists(st.lists(st.integers(3, 99), min_size=1, max_size=7), min_size=1, max_size=9))
def test_padded_sequences_are_whole_and_end_in_padding(sequences: list[list[int]]) -> None:
    numbers, lengths = pad(sequences)
    assert numbers.dtype == torch.int64
    for row, length, sequence in zip(numbers.tolist(), lengths.tolist(), sequences, strict=True):
        assert row[:length] == sequence
        assert row[length:] == [PAD] * (numbers.shape[1] - length)


@pytest.mark.parametrize("sequences", [[], [[3], []]])
def test_what_has_no_steps_is_refused(sequences: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="Each sequence needs an element"):
        pad(sequences)
