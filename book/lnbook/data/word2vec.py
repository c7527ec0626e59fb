"""A user's own word vectors, in word2vec's binary format.

Kiros and others (2015) used vectors of 300 numbers for three million words, learned from news.
`$LNLIB_DATA/word2vec/` must hold `GoogleNews-vectors-negative300.bin`, unpacked, or another file of that
form. Its first line gives the number of words and of numbers per word. Then follow, for each word, its
letters in UTF-8, a blank, its numbers in 32 bits each, lowest byte first, and possibly a line end.
"""

import mmap
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from .dataset import DataError
from .environment import users_folder
from .files import digest_of_folder
from .lookup import noted
from .users import check_plain

__all__ = ["Vectors", "load_word2vec", "present", "read_vectors"]

NAME = "word2vec"
FILE_BYTES, WORD_BYTES = 2**36, 2**12  # at most; the file of news has 3.6 GB

Vectors = dict[str, Float32[np.ndarray, " k"]]


def present() -> bool:
    """Whether the user has a folder `word2vec`, whatever it holds."""
    root = users_folder()
    return root is not None and (root / NAME).is_dir()


def read_vectors(path: Path, wanted: Collection[str]) -> tuple[Vectors, int]:
    """The vectors that the file has of the wanted words, and their length; no other vectors are read.

    Raises DataError for a file without the header, for one that is cut off or continues after its last word,
    and for a vector that is not finite.
    """
    check_plain(path, FILE_BYTES)
    names = {word.encode(): word for word in wanted}
    found: Vectors = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        header = re.match(rb"([1-9]\d{0,11}) ([1-9]\d{0,4})\r?\n", held)
        if not header:
            raise DataError(
                f"{path} does not begin with its number of words and of numbers per word, so it is not in "
                f"word2vec's binary format. Unpack it if it is compressed, or get another file."
            )
        count, size = int(header[1]), int(header[2])
        at = header.end()
        for number in range(count):
            blank = held.find(b" ", at, at + WORD_BYTES)
            after = blank + 1 + 4 * size
            if blank < 0 or after > len(held):
                raise DataError(
                    f"{path} breaks off at word {number + 1} of {count}, at byte {at} of {len(held)}; get it "
                    f"again."
                )
            word = names.get(held[at:blank].lstrip(b"\n"))
            if word is not None and word not in found:
                found[word] = np.frombuffer(held[blank + 1 : after], dtype="<f4")
            at = after
        if held[at : at + WORD_BYTES].strip():
            raise DataError(f"{path} continues after the last of its {count} words; get it again.")
    if wrong := [word for word, vector in found.items() if not np.isfinite(vector).all()]:
        raise DataError(
            f"{path}: the vector of {wrong[0]!r} is not finite ({len(wrong)} such in all); get the "
            f"file again."
        )
    return found, size


def load_word2vec(wanted: Collection[str]) -> tuple[Vectors, int, dict[str, Any]]:
    """The vectors that the user's file has of these words, their length, and their provenance.

    Raises DataError if there is no such folder with one .bin file, and as `read_vectors` does.
    """
    root = users_folder()
    folder = (root or Path("$LNLIB_DATA")) / NAME
    paths = sorted(folder.glob("*.bin")) if root else []
    if len(paths) != 1:
        raise DataError(
            f"{folder} must hold one .bin file of vectors, such as GoogleNews-vectors-negative300.bin, but "
            f"holds {len(paths)}; remove the folder to use vectors made from the books instead."
        )
    vectors, size = read_vectors(paths[0], wanted)
    provenance = {
        "name": NAME,
        "requested": NAME,
        "source": "LNLIB_DATA",
        "licence": "Apache License 2.0",
        "citation": "Mikolov, Sutskever, Chen, Corrado, Dean (2013)",
        "sha256": digest_of_folder(folder),
        "file": paths[0].name,
    }
    return vectors, size, noted(provenance)
