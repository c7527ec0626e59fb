"""BookCorpus from a user's folder: 74 million sentences as word numbers.

It is no longer distributed, so there is nothing to download. `$LNLIB_DATA/bookcorpus/` must hold it as it was
published, in `books_large_p1.txt` and `books_large_p2.txt`: one sentence per line, in UTF-8, with blanks
between tokens. The numbers of the whole corpus take 5 GB of memory, and an hour to make.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int32, Int64

from .text import Vocabulary, tokenize
from .users import provenance_of, reading, users_own

FILES = ("books_large_p1.txt", "books_large_p2.txt")
HELD_OUT = 20_000  # sentences at the end, for validation; the last twelfth if that is fewer
_QUOTES = {"``": ('"',), "''": ('"',)}  # as in the Penn Treebank, and so in BookCorpus


@dataclass(frozen=True)
class Store:
    """Consecutive sentences, as word numbers.

    Attributes:
        vocabulary: the words that the numbers stand for; 1 is any other word.
        numbers: of all tokens, sentence after sentence.
        offsets: sentence k is `numbers[offsets[k]:offsets[k + 1]]`; an empty one separates two files.
        held: how many sentences at the end are for validation; they do not count for the vocabulary.
        provenance: as from `lnbook.data.published`, and `cases`, the number of sentences.
    """

    vocabulary: Vocabulary
    numbers: Int32[np.ndarray, " T"]
    offsets: Int64[np.ndarray, " S1"]
    held: int
    provenance: dict[str, Any]


def load_store(words: int) -> Store:
    """The user's BookCorpus as numbers, with so many of its most frequent words.

    Raises `DataError` without the folder, and for a file that is absent or no text in UTF-8.
    """
    folder = users_own("bookcorpus", f"Put {' and '.join(FILES)} there, or read novels.")
    count = sum(1 for name in FILES for _ in _sentences(folder / name))
    held = min(HELD_OUT, count // 12)
    known = (sentence for name in FILES for sentence in _sentences(folder / name))
    vocabulary = Vocabulary.build(islice(known, count - held), words)
    numbers, offsets = array("i"), array("q", [0])
    for name in FILES:
        if name != FILES[0]:
            offsets.append(len(numbers))
        for sentence in _sentences(folder / name):
            numbers.extend(vocabulary.encode(sentence))
            offsets.append(len(numbers))
    licence = "no longer distributed; the books belong to their authors"
    citation = "Zhu, Kiros, Zemel, and others: Aligning books and movies, ICCV (2015)"
    provenance = provenance_of(folder, licence, citation, cases=count)
    return Store(vocabulary, np.array(numbers, np.int32), np.array(offsets, np.int64), held, provenance)


def _sentences(path: Path) -> Iterator[list[str]]:
    with reading(path), path.open(encoding="utf-8-sig") as file:
        for line in file:
            yield [token for word in line.split() for token in _tokens(word)]


@lru_cache(2**20)
def _tokens(word: str) -> tuple[str, ...]:
    """No token crosses a blank, so a text can be tokenized word by word."""
    return _QUOTES.get(word) or tuple(tokenize(word))
