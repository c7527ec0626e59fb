"""Binarized pictures: the published text, packed or not, and what is said of files that are not it."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from lnbook import data
from lnbook.data import DataError, DataSet, PublishedFile
from lnbook.data.binarized import NO_LABEL, binarized_digits, read_amat

WHOLE = data.find("binarized_mnist") == "LNLIB_DATA"  # before a test changes where it is looked for
NAMES = [f"small_{part}.amat" for part in ("train", "valid", "test")]


def text(x: np.ndarray) -> bytes:
    return "".join(" ".join(map(str, row.ravel())) + "\n" for row in x).encode()


def pictures(cases: int, seed: int = 0, side: int = 28) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (cases, side, side)).astype(np.uint8)


PARTS = [pictures(n, seed=n) for n in (5, 3, 2)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registered set "small" of 10 pictures, and the users' empty folder for it."""
    texts = [text(x) for x in PARTS]
    files = tuple(
        PublishedFile(n, hashlib.sha256(t).hexdigest(), len(t)) for n, t in zip(NAMES, texts, strict=True)
    )
    entry = DataSet(
        "small", "10 pictures", files, ("http://127.0.0.1:9/",), "CC0", "tests", "binarized_digits"
    )
    monkeypatch.setitem(data.DATA_SETS, "small", entry)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    place = tmp_path / "small"
    place.mkdir()
    return place


def fill(folder: Path, packed: tuple[bool, ...] = (False, True, True)) -> None:
    for name, x, pack in zip(NAMES, PARTS, packed, strict=True):
        if pack:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text(x), mtime=0))
        else:
            (folder / name).write_bytes(text(x))


@pytest.mark.parametrize("packed", [(False, False, False), (True, True, True), (False, True, False)])
def test_the_published_text_is_read_plain_or_packed(folder: Path, packed: tuple[bool, ...]) -> None:
    fill(folder, packed)
    images = data.load("small")
    for part, x in zip(("train", "valid", "test"), PARTS, strict=True):
        np.testing.assert_array_equal(getattr(images, f"{part}_x"), x)
        assert (getattr(images, f"{part}_y") == NO_LABEL).all()
    assert images.peak == 1
    assert images.provenance["source"] == data.find("small") == "LNLIB_DATA"
    assert images.provenance["cases"] == 10


def test_provenance_does_not_depend_on_packing(folder: Path) -> None:
    fill(folder, (False, False, False))
    plain = data.load("small").provenance
    for name in NAMES:
        (folder / name).unlink()
    fill(folder, (True, True, True))
    assert data.load("small").provenance == plain


@pytest.mark.parametrize("pack", [False, True])
def test_another_text_is_an_error_with_both_hashes_and_stays(folder: Path, pack: bool) -> None:
    fill(folder, (pack, False, False))
    wrong = text(1 - PARTS[0])
    path = folder / (NAMES[0] + ".gz" * pack)
    path.write_bytes(gzip.compress(wrong) if pack else wrong)
    with pytest.raises(DataError, match=r"is not the published file") as error:
        data.load("small")
    assert hashlib.sha256(wrong).hexdigest() in str(error.value)
    assert hashlib.sha256(text(PARTS[0])).hexdigest() in str(error.value)
    assert path.is_file()


def test_a_packed_file_that_is_cut_short_is_named(folder: Path) -> None:
    fill(folder, (True, True, True))
    path = folder / f"{NAMES[2]}.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"small_test\.amat\.gz is not a whole gzip file"):
        data.load("small")


def test_a_missing_part_is_named(folder: Path) -> None:
    fill(folder)
    (folder / f"{NAMES[1]}.gz").unlink()
    with pytest.raises(DataError, match=r"is incomplete and was passed over: it lacks small_valid\.amat\."):
        data.load("small", on_stand_in="error")
    images = data.load("small", on_stand_in="silent")
    assert images.provenance["name"] == "binarized_digits"
    assert images.provenance["passed_over"] == "$LNLIB_DATA/small lacks small_valid.amat"


def test_without_files_the_stand_in_is_the_binarized_digits(folder: Path) -> None:
    images = data.load("small", on_stand_in="silent")
    assert images.provenance["name"] == "binarized_digits"
    assert images.provenance["requested"] == "small"


# ------------------------------------------------------------------------------- the format


def test_a_picture_of_another_width_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.amat"
    path.write_bytes(text(pictures(2, side=8)))
    with pytest.raises(DataError, match=r"has 64 pixels in its first line, and a picture of 28 x 28 has 784"):
        read_amat(path)
    assert read_amat(path, side=8).shape == (2, 8, 8)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.amat"
    path.write_bytes(text(pictures(3))[:-10])
    with pytest.raises(DataError, match=r"cut short: after 2 whole pictures 1558 of 1568 bytes"):
        read_amat(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="0 pixels"):
        read_amat(path)


@pytest.mark.parametrize(("at", "to"), [(0, b"2"), (1, b"1"), (1567, b" "), (600, b"x")])
def test_a_wrong_byte_is_refused_with_its_line(tmp_path: Path, at: int, to: bytes) -> None:
    path = tmp_path / "x.amat"
    good = text(pictures(3))
    path.write_bytes(good[: 1568 + at] + to + good[1568 + at + 1 :])
    with pytest.raises(DataError, match="damaged in line 2"):
        read_amat(path)


def test_the_digits_are_cut_at_half_their_range() -> None:
    grey, binary = data.load("digits"), binarized_digits()
    np.testing.assert_array_equal(binary.test_x, grey.test_x >= 8)
    np.testing.assert_array_equal(binary.train_y, grey.train_y)
    assert set(np.unique(binary.train_x)) == {0, 1}
    assert data.load("binarized_digits").provenance["name"] == "binarized_digits"


def test_the_published_set_has_the_published_sizes_and_means() -> None:
    """Where LNLIB_DATA has it; elsewhere the registry alone is looked at."""
    entry = data.data_set("binarized_mnist")
    assert [file.size for file in entry.files] == [n * 1568 for n in (50_000, 10_000, 10_000)]
    assert entry.stand_in == "binarized_digits"
    if WHOLE:
        images = data.load("binarized_mnist")
        means = [getattr(images, f"{part}_x").mean() for part in ("train", "valid", "test")]
        assert means == pytest.approx([0.130562, 0.131127, 0.132512], abs=1e-6)
