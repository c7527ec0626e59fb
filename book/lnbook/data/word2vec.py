"""A user's own word vectors, in word2vec's binary format.

Kiros and others (2015) used vectors of 300 numbers for three million words, learned from news.
`$LNLIB_DATA/word2vec/` must hold `GoogleNews-vectors-negative300.bin`, unpacked, or another file of that
form. Its first line gives the number of words and of numbers per word. Then follow, for each word, its
letters in UTF-8, a blank, its numbers in 32 bits each, lowest byte first, and possibly a line end.
"""

import mmap
import re
from collections.abc import Collection
from typing import Any

import numpy as np
from jaxtyping import Float32

from .datasets import DataError
from .users import provenance_of, users_own

__all__ = ["Vectors", "load_word2vec"]

Vectors = dict[str, Float32[np.ndarray, " k"]]


def load_word2vec(wanted: Collection[str]) -> tuple[Vectors, int, dict[str, Any]]:
    """The vectors that the user's file has of these words, their length, and their provenance.

    Raises DataError if there is no such folder with one .bin file, or the file is not in the format, is cut
    off, or has a vector that is not finite.
    """
    folder = users_own("word2vec", "Put GoogleNews-vectors-negative300.bin there, or use the books' vectors.")
    paths = sorted(folder.glob("*.bin"))
    if len(paths) != 1 or not paths[0].stat().st_size:
        raise DataError(f"{folder} must hold one .bin file of vectors, but holds {len(paths)}.")
    names = {word.encode(): word for word in wanted}
    found: Vectors = {}
    with paths[0].open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        header = re.match(rb"([1-9]\d{0,11}) ([1-9]\d{0,4})\r?\n", held)
        if not header:
            raise DataError(f"{paths[0]} does not begin with two numbers; unpack it, or get another file.")
        count, size, at = int(header[1]), int(header[2]), header.end()
        for number in range(count):
            blank = held.find(b" ", at)
            after = blank + 1 + 4 * size
            if blank < 0 or after > len(held):
                raise DataError(f"{paths[0]} breaks off at word {number + 1} of {count}; get it again.")
            word = names.get(held[at:blank].lstrip(b"\n"))
            if word is not None and word not in found:
                found[word] = np.frombuffer(held[blank + 1 : after], dtype="<f4")
            at = after
    if wrong := [word for word, vector in found.items() if not np.isfinite(vector).all()]:
        raise DataError(f"{paths[0]}: the vector of {wrong[0]!r} is not finite; get the file again.")
    citation = "Mikolov, Sutskever, Chen, Corrado, Dean (2013)"
    return found, size, provenance_of(folder, "Apache License 2.0", citation, file=paths[0].name)
