"""A user's hostile files: each is refused by name, with the fix, before memory is used."""

import gzip
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lnbook.data import DataError, DataSet, PublishedFile, files
from lnbook.data.bookcorpus import sentences
from lnbook.data.captions import load_features
from lnbook.data.iam import read_line, read_lines
from lnbook.data.iam_parts import read_list
from lnbook.data.mpqa import phrases
from lnbook.data.questions import read_questions
from lnbook.data.users import read_bytes, read_text
from lnbook.data.word2vec import read_vectors

LINE = b"<C><StrokeSet><Stroke><Point x='1' y='2'/><Point x='3' y='5'/></Stroke></StrokeSet></C>"
QUESTION = "u\n\n@entity0 met .\n\nwho met @placeholder\n\n@entity0\n\n@entity0:Ann\n"


def features(folder: Path) -> Path:
    """The layout of the paper's data, one picture per part; returns the place of the training vectors."""
    (folder / "images" / "10crop").mkdir(parents=True)
    for name in ("train", "val", "test"):
        (folder / f"{name}.txt").write_text("a dog\n" * 5)
        np.save(folder / "images" / "10crop" / f"{name}.npy", np.ones((1, 4), np.float32))
    return folder / "images" / "10crop" / "train.npy"


def iam(folder: Path) -> Path:
    (folder / "lineStrokes" / "a01").mkdir(parents=True)
    (folder / "ascii" / "a01").mkdir(parents=True)
    (folder / "ascii" / "a01" / "a01-000u.txt").write_text("CSR:\n\nA move to\n")
    place = folder / "lineStrokes" / "a01" / "a01-000u-01.xml"
    place.write_bytes(LINE)
    return place


def question(folder: Path) -> Path:
    (folder / "a.question").write_text(QUESTION)
    return folder / "a.question"


def text(name: str, line: str) -> Callable[[Path], Path]:
    """A function that writes a file of forty such lines."""

    def build(folder: Path) -> Path:
        (folder / name).write_text(f"{line}\n" * 40)
        return folder / name

    return build


def forms(folder: Path) -> Path:
    (folder / "trainset.txt").write_text("a01-000u\n")
    return folder / "trainset.txt"


def vectors(folder: Path) -> Path:
    (folder / "a.bin").write_bytes(b"1 2\ncat " + np.ones(2, "<f4").tobytes())
    return folder / "a.bin"


READERS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], object]]] = {
    "captions": (lambda f: features(f).parents[2] / "train.txt", load_features),
    "strokes": (iam, read_lines),
    "transcript": (lambda f: iam(f).parents[2] / "ascii" / "a01" / "a01-000u.txt", read_lines),
    "question": (question, lambda folder: list(read_questions(folder))),
    "forms": (forms, lambda folder: read_list(folder / "trainset.txt")),
    "word vectors": (vectors, lambda folder: read_vectors(folder / "a.bin", ["cat"])),
    "phrases": (text("mpqa.pos", "so good"), lambda folder: phrases(folder / "mpqa.pos")),
    "books": (text("books.txt", "a cat ."), lambda folder: list(sentences(folder / "books.txt"))),
}


def fifo(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def device(place: Path) -> None:
    place.unlink()
    place.symlink_to("/dev/zero")


def huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(2**40)  # of holes: it takes no room on the disk


def utf16(place: Path) -> None:
    place.write_bytes("a dog\n".encode("utf-16-le") * 5)


HOSTILE = {
    "a pipe": fifo,
    "a device": device,
    "nothing": lambda place: place.write_bytes(b""),
    "a terabyte": huge,
    "UTF-16": utf16,
    "no text": lambda place: place.write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.timeout(60)  # a reader that waits for a pipe, or reads a device, never ends
def test_a_file_of_another_kind_is_refused_by_its_name(tmp_path: Path, reader: str, what: str) -> None:
    build, read = READERS[reader]
    place = build(tmp_path)
    read(tmp_path)
    HOSTILE[what](place)
    with pytest.raises(DataError, match=place.name.replace(".", r"\.")):
        read(tmp_path)


def test_a_byte_order_mark_is_not_part_of_the_first_caption(tmp_path: Path) -> None:
    place = features(tmp_path).parents[2] / "train.txt"
    place.write_text("a dog\n" * 5, encoding="utf-8-sig")
    assert load_features(tmp_path).parts["train"].texts == ["a dog"] * 5


def test_as_much_as_is_allowed_is_read_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_bytes(tmp_path / "x", 5) == b"12345"
    with pytest.raises(DataError, match="x has 5 bytes; such a file has 1 to 4"):
        read_bytes(tmp_path / "x", 4)
    with pytest.raises(DataError, match="not a plain file"):
        read_bytes(tmp_path, 4)
    with pytest.raises(DataError, match="y cannot be read"):
        read_text(tmp_path / "y", 4)


def header(shape: str, descr: str = "<f4") -> bytes:
    words = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(words)) + words


def archive(place: Path) -> None:
    with place.open("wb") as file:
        np.savez(file, ONES)


def saved(array: np.ndarray) -> Callable[[Path], object]:
    return lambda place: np.save(place, array)


ONES = np.ones((1, 4), np.float32)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (saved(ONES * np.nan), "1 rows, the first is row 0, have no direction"),
        (saved(ONES * np.inf), "have no direction"),
        (saved(ONES * 1e30), "have no direction"),  # their squares are infinite
        (saved(np.ones((1, 4)) * 1e300), "have no direction"),  # no float32
        (saved(ONES * 0), "nothing but zeros"),
        (saved(np.ones(4, np.float32)), r"holds float32 of shape \(4,\)"),
        (saved(np.ones((0, 4), np.float32)), "holds float32 of shape"),
        (saved(np.ones((1, 4), complex)), "holds complex128 of shape"),
        (saved(np.ones((1, 4), [("a", "f4")])), "holds .* of shape"),
        (saved(np.ones((1, 5), np.float32)), "vectors of different lengths, .*'train': 5, 'valid': 4"),
        (archive, "is an archive of arrays"),
        # a pickle, as an attacker would make one
        (lambda place: np.save(place, np.array([[{}]]), allow_pickle=True), "is not a complete .npy file"),
        (lambda place: place.write_bytes(b""), "is not a complete .npy file"),
        (lambda place: place.write_bytes(b"\x93NUMPY"), "is not a complete .npy file"),
        (lambda place: place.write_bytes(place.read_bytes()[:-1]), "is not a complete .npy file"),
        (lambda place: place.write_bytes(header("(1000000000, 4096)")), "is not a complete .npy file"),
        (lambda place: place.write_bytes(header("(4294967296, 4294967296)")), "is not a complete .npy file"),
        (lambda place: place.write_bytes(header("(-1, 4)")), "is not a complete .npy file"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # NumPy's, of a false header
def test_features_that_are_not_vectors_are_refused(tmp_path: Path, spoil, message: str) -> None:
    place = features(tmp_path)
    spoil(place)
    with pytest.raises(DataError, match=message):
        load_features(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_in_every_encoding(encoding: str) -> None:
    bomb = '<!DOCTYPE C [<!ENTITY a "aaaaaaaaaa">]>'
    text = f'<?xml version="1.0" encoding="{encoding}"?>{bomb}{LINE.decode()}'
    with pytest.raises(DataError, match="x declares a document type"):
        read_line(text.encode(encoding), "x")
    np.testing.assert_array_equal(read_line(text.replace(bomb, "").encode(encoding)), read_line(LINE))


@pytest.mark.parametrize("number", ["1e400", "nan", "1e300", "-1000001"])
def test_a_pen_that_is_nowhere_is_refused(number: str) -> None:
    with pytest.raises(DataError, match="not finite, or farther than 1e"):
        read_line(LINE.replace(b"'1'", f"'{number}'".encode()), "x")


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(DataError, match="x is no XML"):
        read_line(b"<?xml version='1.0' encoding='x-none'?>" + LINE, "x")


def test_no_more_of_a_packed_file_is_unpacked_than_was_published(tmp_path: Path) -> None:
    """In a process that may take 1 GB of addresses above what it has: the bomb has 4 GB."""
    (tmp_path / "plain.gz").write_bytes(64 * gzip.compress(bytes(2**26)))
    program = f"""
import resource
from pathlib import Path
from lnbook.data import DataError, DataSet, PublishedFile, files
pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + 2**30,) * 2)
entry = DataSet("small", "", (PublishedFile("plain", "0" * 64, 1000),), (), "", "")
try:
    files.verify(entry, Path({str(tmp_path)!r}))
except DataError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "plain.gz is not the published file: expected 1000 bytes" in done.stdout


@pytest.mark.parametrize(("content", "sound"), [(b"12345", True), (b"123456", False), (b"1234", False)])
def test_a_packed_file_is_verified_by_what_it_holds(tmp_path: Path, content: bytes, sound: bool) -> None:
    known = "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"  # of 12345
    entry = DataSet("small", "", (PublishedFile("plain", known, 5),), (), "", "")
    (tmp_path / "plain.gz").write_bytes(gzip.compress(content))
    if sound:
        files.verify(entry, tmp_path)
    else:
        with pytest.raises(DataError, match="is not the published file"):
            files.verify(entry, tmp_path)
    (tmp_path / "plain.gz").write_bytes(gzip.compress(b"12345")[:-1])
    with pytest.raises(DataError, match="not a whole gzip file"):
        files.verify(entry, tmp_path)
