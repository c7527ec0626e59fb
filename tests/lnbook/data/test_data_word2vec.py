"""word2vec's binary format: the wanted vectors of a file, and what is wrong with one."""

from pathlib import Path

import numpy as np
import pytest

from lnbook.data import DataError, loaded
from lnbook.data.word2vec import load_word2vec, present, read_vectors

WORDS = ("</s>", "in", "caf\u00e9", "New_York", "cat", "a")


def vectors(size: int = 3) -> np.ndarray:
    """Numbers whose bytes include blanks and line ends, as any numbers' may."""
    made = np.random.default_rng(0).normal(size=(len(WORDS), size)).astype("<f4")
    made[1] = np.frombuffer(b" \n \n" * size, "<f4")
    return made


def content(ends: bytes = b"\n", count: int = len(WORDS), size: int = 3) -> bytes:
    """A file as word2vec's own program writes it, or without a line end after the numbers."""
    rows = [w.encode() + b" " + v.tobytes() + ends for w, v in zip(WORDS, vectors(size), strict=True)]
    return f"{count} {size}\n".encode() + b"".join(rows)


@pytest.mark.parametrize("ends", [b"\n", b""])
def test_the_wanted_vectors_are_read_and_no_others(tmp_path: Path, ends: bytes) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(content(ends))
    found, size = read_vectors(path, ["cat", "caf\u00e9", "in", "zebra", "new_york"])
    assert size == 3
    assert list(found) == ["in", "caf\u00e9", "cat"]
    for word, vector in found.items():
        np.testing.assert_array_equal(vector, vectors()[WORDS.index(word)])


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        (b"", "has 0 bytes"),
        (b"\x1f\x8b compressed", r"some\.bin does not begin with its number of words .* Unpack it"),
        (b"in 0.1 0.2 0.3\n", "is not in word2vec's binary format"),
        (b"0 3\n", "is not in word2vec's binary format"),
        (content()[:-2], r"breaks off at word 6 of 6, at byte \d+ of \d+; get it again"),
        (content(count=7), "breaks off at word 7 of 7"),
        (b"2 3\n" + b"x" * 9000, "breaks off at word 1 of 2, at byte 4 of 9004"),
        (content(count=5), "continues after the last of its 5 words"),
        (
            content().replace(vectors()[4].tobytes(), np.float32([1, np.nan, 1]).tobytes()),
            r"of 'cat' is not finite \(1 such in all\)",
        ),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, spoiled: bytes, message: str) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(spoiled)
    with pytest.raises(DataError, match=message):
        read_vectors(path, ["cat", "a"])


def test_the_users_folder_must_hold_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    assert not present()
    with pytest.raises(
        DataError, match=r"must hold one \.bin file of vectors, .* but holds 0; remove the folder"
    ):
        load_word2vec(["cat"])
    (tmp_path / "word2vec").mkdir()
    assert present()
    (tmp_path / "word2vec" / "one.bin").write_bytes(content())
    found, size, provenance = load_word2vec(["cat"])
    assert (list(found), size, provenance["file"]) == (["cat"], 3, "one.bin")
    assert provenance in loaded()
    (tmp_path / "word2vec" / "other.bin").write_bytes(content())
    with pytest.raises(DataError, match="but holds 2"):
        load_word2vec(["cat"])
