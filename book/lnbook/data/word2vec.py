"""A user's own word vectors, in word2vec's binary format.

Kiros and others (2015) used vectors of 300 numbers for three million words, learned from news.
`$LNLIB_DATA/word2vec/` must hold `GoogleNews-vectors-negative300.bin`, unpacked, or another file of that
form. Its first line gives the number of words and of numbers per word. Then follow, for each word, its
letters in UTF-8, a blank, its numbers in 32 bits each, lowest byte first, and possibly a line end.
"""

import mmap
from collections.abc import Collection
from typing import Any

import numpy as np
from jaxtyping import Float32

from .users import provenance_of, reading, users_own

Vectors = dict[str, Float32[np.ndarray, " k"]]


def load_word2vec(wanted: Collection[str]) -> tuple[Vectors, int, dict[str, Any]]:
    """The vectors that the user's file has of these words, their length, and their provenance.

    Raises `DataError` without the folder, and for a file that is absent, breaks off or is another.
    """
    folder = users_own("word2vec", "Put GoogleNews-vectors-negative300.bin there, or use the books' vectors.")
    names = {word.encode(): word for word in wanted}
    found: Vectors = {}
    path = next(folder.glob("*.bin"), folder / "GoogleNews-vectors-negative300.bin")
    with reading(path), path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        count, size = map(int, held.readline().split())
        at = held.tell()
        for number in range(count):
            blank = held.find(b" ", at)
            after = blank + 1 + 4 * size
            if blank < 0 or after > len(held):
                raise ValueError(f"it breaks off at word {number + 1} of {count}")
            if word := names.get(held[at:blank].lstrip(b"\n")):
                found[word] = np.frombuffer(held[blank + 1 : after], dtype="<f4")
            at = after
    citation = "Mikolov, Sutskever, Chen, Corrado, Dean (2013)"
    return found, size, provenance_of(folder, "Apache License 2.0", citation, file=path.name)
