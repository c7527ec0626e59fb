"""Pictures: the formats they are published in, the paper's parts, and the answer to files that hold none."""

import gzip
import hashlib
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest

from lnbook import data
from lnbook.data import DATA_SETS, DataError, DataSet, PublishedFile
from lnbook.data.images import NO_LABEL

IDX = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
BATCHES = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
DRAW = np.random.default_rng(0)
GREY = DRAW.integers(0, 256, (30, 5, 4)).astype(np.uint8)
BINARY = DRAW.integers(0, 2, (10, 28, 28)).astype(np.uint8)
COLOR = DRAW.integers(0, 256, (36, 3, 32, 32)).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def amat(x: np.ndarray) -> bytes:
    return "".join(" ".join(map(str, row.ravel())) + "\n" for row in x).encode()


def cifar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return gzip.compress(buffer.getvalue(), mtime=0)


def records() -> dict[str, bytes]:
    rows = [bytes([k % 10]) + x.tobytes() for k, x in enumerate(COLOR)]
    return {name: b"".join(rows[6 * k : 6 * k + 6]) for k, name in enumerate(BATCHES)}


def tiny() -> dict[str, bytes]:
    """24 training and 6 test pictures of 5 x 4 pixels, in MNIST's four files."""
    arrays = (GREY[:24], np.arange(24, dtype=np.uint8), GREY[24:], np.arange(6, dtype=np.uint8))
    return {f"{name}-ubyte.gz": gzip.compress(idx(a), mtime=0) for name, a in zip(IDX, arrays, strict=True)}


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that registers files as the data set "small" and puts them into the user's folder."""

    def write(files: dict[str, bytes]) -> str:
        listed = tuple(PublishedFile(n, hashlib.sha256(b).hexdigest(), len(b)) for n, b in files.items())
        monkeypatch.setitem(DATA_SETS, "small", DataSet("small", "", listed, (), "CC0", "the tests"))
        monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
        (tmp_path / "small").mkdir()
        for name, body in files.items():
            (tmp_path / "small" / name).write_bytes(body)
        return "small"

    return write


@pytest.mark.parametrize("packed", [True, False])
def test_pictures_in_mnists_form_are_split_as_the_paper_counts_and_scaled(put, packed: bool) -> None:
    files = tiny() if packed else {n.removesuffix(".gz"): gzip.decompress(b) for n, b in tiny().items()}
    images = data.load(put(files))
    np.testing.assert_array_equal(images.train_x, GREY[:22])
    np.testing.assert_array_equal(images.valid_x, GREY[22:24])
    np.testing.assert_array_equal(images.test_x, GREY[24:])
    np.testing.assert_array_equal(images.valid_y, [22, 23])
    assert images.provenance["cases"] == 30
    flat, labels = images.flat("test")
    assert flat.dtype == np.float32
    np.testing.assert_allclose(flat * 255, GREY[24:].reshape(6, -1), rtol=1e-6)  # float32
    np.testing.assert_array_equal(labels, np.arange(6))


@pytest.mark.parametrize("packed", [True, False])
def test_binarized_pictures_are_read_plain_or_packed_with_the_same_provenance(put, packed: bool) -> None:
    parts = {"train": BINARY[:5], "valid": BINARY[5:8], "test": BINARY[8:]}
    name = put({f"small_{part}.amat": amat(x) for part, x in parts.items()})
    provenance = data.load(name).provenance
    if packed:
        for path in (Path(p) for p in data.published(name).files.values()):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    images = data.load(name)
    for part, x in parts.items():
        np.testing.assert_array_equal(getattr(images, f"{part}_x"), x)
        assert (getattr(images, f"{part}_y") == NO_LABEL).all()
    assert images.peak == 1
    assert images.provenance == provenance


def test_color_pictures_come_as_planes_in_the_published_order(put) -> None:
    images = data.load(put({"cifar-10-binary.tar.gz": cifar({"readme.html": b"hello", **records()})}))
    np.testing.assert_array_equal(np.concatenate([images.train_x, images.valid_x, images.test_x]), COLOR)
    assert (len(images.train_x), len(images.valid_x), len(images.test_x)) == (28, 2, 6)
    assert images.test_y.tolist() == [0, 1, 2, 3, 4, 5]


def test_digits_are_always_there_and_always_the_same() -> None:
    images, binary = data.load("digits"), data.load("binarized_digits")
    assert (len(images.train_x), len(images.valid_x), len(images.test_x)) == (1318, 119, 360)
    assert images.peak == images.train_x.max() == 16
    np.testing.assert_array_equal(binary.test_x, images.test_x >= 8)
    sha256 = "65e5b4619795efb40c1082f4c350c049e4ad552200d369b6ae99e21eef5e72c5"  # of the recorded runs
    assert images.provenance["sha256"] == binary.provenance["sha256"] == sha256


def test_files_that_hold_no_pictures_are_refused(put) -> None:
    with pytest.raises(DataError, match="small holds no pictures"):
        data.load(put({"words.txt": b"some words"}))
