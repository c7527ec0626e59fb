"""BookCorpus from a user's folder: 74 million sentences, kept on disk as the numbers of their words.

It is given out no more, so there is nothing to download. `$LNLIB_DATA/bookcorpus/` must hold it as it was
published, `books_large_p1.txt` and `books_large_p2.txt`: a sentence a line, in UTF-8, its tokens between
blanks. Any other text in .txt files of that form is read as well, in the order of their names.

Nothing but the counts of words is held in memory. The files are read twice: for the vocabulary, and for the
numbers, which go into one flat file of the cache, under a key of what the files hold.
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
HELD_OUT = 20_000  # sentences at the end, or the last twelfth if that is less: for validation
FILE_BYTES, LINE_BYTES = 2**36, 2**20  # at most; the larger file has 3 GB, and a line is a sentence
FORM = 1  # of the files of a store and of the tokens; what it says is another key
CHUNK = 2**20  # numbers to write at once
_QUOTES = {"``": ('"',), "''": ('"',)}  # as the Penn Treebank writes them, and so BookCorpus


@dataclass(frozen=True)
class Store:
    """Sentences in a row, as numbers.

    Attributes:
        vocabulary: whose numbers they are; 1 is any other word.
        numbers: of all tokens, one sentence behind the other; on disk.
        offsets: sentence k is `numbers[offsets[k]:offsets[k + 1]]`; an empty one stands between two files.
        held: the last so many sentences are for validation; the vocabulary does not know them.
        provenance: as of `lnbook.data.published`, and `cases`, the number of sentences.
    """

    vocabulary: Vocabulary
    numbers: Int32[np.ndarray, " T"]
    offsets: Int64[np.ndarray, " S1"]
    held: int
    provenance: dict[str, Any]


def present() -> bool:
    """Whether the user has a folder of that name; looks at nothing else."""
    root = users_folder()
    return root is not None and (root / NAME).is_dir()


def sentences(path: Path) -> Iterator[list[str]]:
    """The tokens of each line, as `tokenize` gives them for the sentences that are to be judged.

    Raises DataError for an empty file or one that cannot be read, and for a line that is no text in UTF-8 or
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
        raise DataError(f"{where} has more than {LINE_BYTES} bytes; there must be a sentence a line.")
    try:
        text = line.decode("utf-8").removeprefix("\ufeff")  # the mark that some editors put at the beginning
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is no text in UTF-8 ({error.reason}); save the file so.") from error
    if "\0" in text:  # as in UTF-16, or in what is no text at all
        raise DataError(f"{where} has a character zero, so it is no text in UTF-8; save the file so.")
    return text


@lru_cache(2**20)
def _tokens(word: str) -> tuple[str, ...]:
    """No token goes across a blank, so words of a text can be told one by one."""
    return _QUOTES.get(word) or tuple(tokenize(word))


def load_store(words: int) -> Store:
    """The numbers of the user's BookCorpus; made at the first call, which for all of it takes an hour.

    Args:
        words: of the vocabulary, the most frequent ones; no special words among them.

    Raises DataError without the folder or .txt files in it, for files that `sentences` refuses, for fewer
    than 36 sentences, for a disk without room, and for a damaged store in the cache.
    """
    root = users_folder()
    folder = (root or Path("$LNLIB_DATA")) / NAME
    paths = sorted(folder.rglob("*.txt"))
    if root is None or not paths:
        raise DataError(
            f"{folder} has no .txt files; BookCorpus is given out no more. Put books_large_p1.txt and "
            f"books_large_p2.txt there, or take the folder away for novels in their place."
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
    """The sentences before those that are held out; what all of them are in number goes to `total`."""
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
    """Write a store beside its place and move it there whole."""
    total: Counter[str] = Counter()
    vocabulary = Vocabulary.build(_known(paths, total), words)
    if total["held"] < 3:
        raise DataError(
            f"{paths[0].parent} has {total['sentences']} sentences; to train and validate takes 36 at least."
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
            raise DataError(f"{paths[0].parent} changed while it was read; leave it alone and begin anew.")
        about = {"words": vocabulary.words[3:], "files": len(paths), **total}
        (building / "store.json").write_text(json.dumps(about), encoding="utf-8")
        if not place.is_dir():  # else another process was faster
            building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write(folder: Path, paths: list[Path], vocabulary: Vocabulary) -> tuple[int, int]:
    """The two flat files; gives how many numbers each holds."""
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
    """The store in a folder of the cache, its arrays mapped."""
    try:
        about = json.loads((place / "store.json").read_text(encoding="utf-8"))
        shapes = {"numbers": ("<i4", about["tokens"]), "offsets": ("<i8", about["sentences"] + 1)}
        for name, (kind, count) in shapes.items():
            if (size := (place / name).stat().st_size) != count * np.dtype(kind).itemsize:
                raise ValueError(f"{name} has {size} bytes for {count} numbers")
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{place} is damaged ({error}); remove it, and it is made anew.") from error
    maps = {name: np.memmap(place / name, dtype=kind, mode="r") for name, (kind, _) in shapes.items()}
    mapped = {name: np.asarray(held) for name, held in maps.items()}
    provenance = {
        "name": NAME,
        "requested": NAME,
        "source": "LNLIB_DATA",
        "licence": "given out no more; the books are their authors'",
        "citation": "Zhu, Kiros, Zemel, and others: Aligning books and movies, ICCV (2015)",
        "sha256": content,
        "cases": about["sentences"] - about["files"] + 1,
    }
    return Store(Vocabulary(about["words"]), **mapped, held=about["held"], provenance=noted(provenance))
