"""Word vectors of a user's own, in word2vec's binary format.

Kiros and others (2015) took 300 numbers of each of three million words, which were learned from news:
`$LNLIB_DATA/word2vec/` must hold `GoogleNews-vectors-negative300.bin`, unpacked, or another file of that
form. Its first line has the number of words and of numbers each; then come, for each word, its letters in
UTF-8, a blank and the numbers as 32 bits, lowest byte first; a line may end behind them.
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
    """Whether the user has a folder of that name; looks at nothing else."""
    root = users_folder()
    return root is not None and (root / NAME).is_dir()


def read_vectors(path: Path, wanted: Collection[str]) -> tuple[Vectors, int]:
    """The vectors of those wanted words that the file has, and how many numbers each has; reads no others.

    Raises DataError for a file without the header, one that is cut off or goes on behind its last word, and
    a vector that is not finite.
    """
    check_plain(path, FILE_BYTES)
    names = {word.encode(): word for word in wanted}
    found: Vectors = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        header = re.match(rb"([1-9]\d{0,11}) ([1-9]\d{0,4})\r?\n", held)
        if not header:
            raise DataError(
                f"{path} does not begin with the number of its words and of numbers each: it is not in "
                f"word2vec's binary format. Unpack it if it is compressed, or get another one."
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
            raise DataError(f"{path} goes on behind the last of its {count} words; get it again.")
    if wrong := [word for word, vector in found.items() if not np.isfinite(vector).all()]:
        raise DataError(f"{path}: the vector of {wrong[0]!r} (of {len(wrong)}) is not finite; get it again.")
    return found, size


def load_word2vec(wanted: Collection[str]) -> tuple[Vectors, int, dict[str, Any]]:
    """The vectors that a user's file has of these words, how many numbers each has, and their provenance.

    Raises DataError where there is no such folder with one .bin file, and as `read_vectors` does.
    """
    root = users_folder()
    folder = (root or Path("$LNLIB_DATA")) / NAME
    paths = sorted(folder.glob("*.bin")) if root else []
    if len(paths) != 1:
        raise DataError(
            f"{folder} must hold one .bin file of vectors, such as GoogleNews-vectors-negative300.bin, and "
            f"holds {len(paths)}; take the folder away for vectors made of the books that are read."
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
