"""BookCorpus from a user's folder: 74 million sentences, kept on disk as word numbers.

BookCorpus is no longer distributed, so there is nothing to download. `$LNLIB_DATA/bookcorpus/` must hold it
as it was published, in `books_large_p1.txt` and `books_large_p2.txt`: one sentence per line, in UTF-8, with
blanks between tokens. Other .txt files of that form are read as well, in the order of their names.

Only the word counts are held in memory. The files are read twice: once for the vocabulary, and once for the
numbers, which go into one flat file in the cache, under a key that depends on the content of the files.
"""

import hashlib
import json
import shutil
import tempfile
from array import array
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int32, Int64

from .dataset import DataError
from .environment import cache_folder, users_folder
from .files import digest_of_folder
from .lookup import noted
from .text import Vocabulary, tokenize
from .users import check_plain

__all__ = ["HELD_OUT", "Store", "load_store", "present", "sentences"]

NAME = "bookcorpus"
HELD_OUT = 20_000  # sentences at the end, for validation; the last twelfth if that is fewer
FILE_BYTES, LINE_BYTES = 2**36, 2**20  # upper limits; the larger file has 3 GB, and a line is one sentence
FORM = 1  # version of a store's files and of the tokens; a new one makes a new key
CHUNK = 2**20  # numbers written at a time
_QUOTES = {"``": ('"',), "''": ('"',)}  # as in the Penn Treebank, and so in BookCorpus


@dataclass(frozen=True)
class Store:
    """Consecutive sentences, as word numbers.

    Attributes:
        vocabulary: the words that the numbers stand for; 1 is any other word.
        numbers: of all tokens, sentence after sentence; on disk.
        offsets: sentence k is `numbers[offsets[k]:offsets[k + 1]]`; an empty one separates two files.
        held: how many sentences at the end are for validation; they do not count for the vocabulary.
        provenance: as from `lnbook.data.published`, and `cases`, the number of sentences.
    """

    vocabulary: Vocabulary
    numbers: Int32[np.ndarray, " T"]
    offsets: Int64[np.ndarray, " S1"]
    held: int
    provenance: dict[str, Any]


def present() -> bool:
    """Whether the user has a folder `bookcorpus`, whatever it holds."""
    root = users_folder()
    return root is not None and (root / NAME).is_dir()


def sentences(path: Path) -> Iterator[list[str]]:
    """The tokens of each line, as `tokenize` gives them for the sentences of the judging tasks.

    Raises DataError for a file that is empty or cannot be read, and for a line that is not UTF-8 text or is
    too long for a sentence.
    """
    check_plain(path, FILE_BYTES)
    number = 0
    with path.open("rb") as file:
        while line := file.readline(LINE_BYTES + 1):
            number += 1
            yield [token for word in _text(line, f"{path}, line {number}").split() for token in _tokens(word)]


def _text(line: bytes, where: str) -> str:
    if len(line) > LINE_BYTES:
        raise DataError(f"{where} has more than {LINE_BYTES} bytes; put one sentence on each line.")
    try:
        text = line.decode("utf-8").removeprefix("\ufeff")  # the byte order mark that some editors put first
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not UTF-8 text ({error.reason}); save the file as UTF-8.") from error
    if "\0" in text:  # as in UTF-16, or in a file that is not text
        raise DataError(f"{where} has a zero character, so it is not UTF-8 text; save the file as UTF-8.")
    return text


@lru_cache(2**20)
def _tokens(word: str) -> tuple[str, ...]:
    """No token crosses a blank, so a text can be tokenized word by word."""
    return _QUOTES.get(word) or tuple(tokenize(word))


def load_store(words: int) -> Store:
    """The user's BookCorpus as numbers; the first call makes them, which takes an hour for the whole corpus.

    Args:
        words: size of the vocabulary: the most frequent words, not counting the special ones.

    Raises DataError if the folder is missing or has no .txt files, for files that `sentences` refuses, for
    fewer than 36 sentences, for a disk without room, and for a damaged store in the cache.
    """
    root = users_folder()
    folder = (root or Path("$LNLIB_DATA")) / NAME
    paths = sorted(folder.rglob("*.txt"))
    if root is None or not paths:
        raise DataError(
            f"{folder} has no .txt files, and BookCorpus is no longer distributed. Put books_large_p1.txt "
            f"and books_large_p2.txt there, or remove the folder to read novels instead."
        )
    for path in paths:
        check_plain(path, FILE_BYTES)
    content = digest_of_folder(folder)
    key = hashlib.sha256(f"{FORM} {content} {words}".encode()).hexdigest()[:16]
    place = cache_folder() / NAME / key
    if not place.is_dir():
        _make(place, paths, words)
    return _read(place, content)


def _known(paths: list[Path], total: Counter[str]) -> Iterator[list[str]]:
    """The sentences before those that are held out; the counts of all sentences go into `total`."""
    last: deque[list[str]] = deque()
    for path in paths:
        for sentence in sentences(path):
            total["sentences"] += 1
            total["tokens"] += len(sentence)
            last.append(sentence)
            if len(last) > HELD_OUT:
                yield last.popleft()
    total["held"] = min(HELD_OUT, total["sentences"] // 12)
    while len(last) > total["held"]:
        yield last.popleft()


def _make(place: Path, paths: list[Path], words: int) -> None:
    """Write a store next to its place, then move it there whole."""
    total: Counter[str] = Counter()
    vocabulary = Vocabulary.build(_known(paths, total), words)
    if total["held"] < 3:
        raise DataError(
            f"{paths[0].parent} has {total['sentences']} sentences; training and validation need at least 36."
        )
    total["sentences"] += len(paths) - 1  # the empty ones between files
    place.parent.mkdir(parents=True, exist_ok=True)
    need = 4 * total["tokens"] + 8 * (total["sentences"] + 1)
    if (free := shutil.disk_usage(place.parent).free) < need:
        raise DataError(
            f"The numbers of BookCorpus take {need / 1e9:.1f} GB, and {place.parent} has {free / 1e9:.1f} GB "
            f"left; make room, or set LNLIB_CACHE to another folder."
        )
    building = Path(tempfile.mkdtemp(prefix=f"{place.name}-", dir=place.parent))
    try:
        sizes = _write(building, paths, vocabulary)
        if sizes != (total["tokens"], total["sentences"] + 1):
            raise DataError(f"{paths[0].parent} changed while it was read; leave it as it is and try again.")
        about = {"words": vocabulary.words[3:], "files": len(paths), **total}
        (building / "store.json").write_text(json.dumps(about), encoding="utf-8")
        if not place.is_dir():  # else another process was faster
            building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write(folder: Path, paths: list[Path], vocabulary: Vocabulary) -> tuple[int, int]:
    """Write the two flat files; returns how many numbers each holds."""
    numbers, offsets, end = array("i"), array("q", [0]), 0
    sizes = [0, 0]
    with (folder / "numbers").open("wb") as first, (folder / "offsets").open("wb") as second:

        def flush() -> None:
            for k, (held, kind, file) in enumerate(((numbers, "<i4", first), (offsets, "<i8", second))):
                file.write(np.array(held, dtype=kind).tobytes())
                sizes[k] += len(held)
                del held[:]

        for path in paths:
            if path != paths[0]:
                offsets.append(end)
            for sentence in sentences(path):
                numbers.extend(vocabulary.encode(sentence))
                end += len(sentence)
                offsets.append(end)
                if len(numbers) >= CHUNK:
                    flush()
        flush()
    return sizes[0], sizes[1]


def _read(place: Path, content: str) -> Store:
    """The store in a folder of the cache, its arrays mapped into memory."""
    try:
        about = json.loads((place / "store.json").read_text(encoding="utf-8"))
        shapes = {"numbers": ("<i4", about["tokens"]), "offsets": ("<i8", about["sentences"] + 1)}
        for name, (kind, count) in shapes.items():
            if (size := (place / name).stat().st_size) != count * np.dtype(kind).itemsize:
                raise ValueError(f"{name} has {size} bytes for {count} numbers")
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{place} is damaged ({error}); remove it, and it will be made again.") from error
    maps = {name: np.memmap(place / name, dtype=kind, mode="r") for name, (kind, _) in shapes.items()}
    mapped = {name: np.asarray(held) for name, held in maps.items()}
    provenance = {
        "name": NAME,
        "requested": NAME,
        "source": "LNLIB_DATA",
        "licence": "no longer distributed; the books belong to their authors",
        "citation": "Zhu, Kiros, Zemel, and others: Aligning books and movies, ICCV (2015)",
        "sha256": content,
        "cases": about["sentences"] - about["files"] + 1,
    }
    return Store(Vocabulary(about["words"]), **mapped, held=about["held"], provenance=noted(provenance))
