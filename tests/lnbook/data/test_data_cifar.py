"""CIFAR-10's archive: small ones in its form are read, and what is not in its form is refused."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from lnbook import data
from lnbook.data import DataError, DataSet, PublishedFile
from lnbook.data.cifar import cifar_images

BATCHES = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
CASES = 6


def batch(seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return (
        draw.integers(0, 256, (CASES, 3, 32, 32)).astype(np.uint8),
        draw.integers(0, 10, CASES).astype(np.uint8),
    )


def records(pictures: np.ndarray, labels: np.ndarray) -> bytes:
    return b"".join(bytes([label]) + x.tobytes() for x, label in zip(pictures, labels, strict=True))


def archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def whole() -> dict[str, bytes]:
    return {name: records(*batch(seed)) for seed, name in enumerate(BATCHES)}


def test_pictures_come_as_color_planes_in_the_published_order(tmp_path: Path) -> None:
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(archive({"readme.html": b"hello", **whole()}))
    images = cifar_images(path, {"name": "cifar10"})
    pictures, labels = (np.concatenate(parts) for parts in zip(*map(batch, range(5)), strict=True))
    cut = 5 * CASES - 5 * CASES // 12
    assert np.array_equal(images.train_x, pictures[:cut])
    assert np.array_equal(images.valid_x, pictures[cut:])
    assert np.array_equal(images.train_y, labels[:cut])
    assert np.array_equal(images.test_x, batch(5)[0])
    assert images.test_y.dtype == np.int64
    assert images.provenance["cases"] == 6 * CASES
    flat, _ = images.flat("test")
    assert flat.shape == (CASES, 3 * 32 * 32)


def test_the_registrys_entry_leads_to_this_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = archive(whole())
    file = PublishedFile("cifar-10-binary.tar.gz", hashlib.sha256(content).hexdigest(), len(content))
    small = DataSet("cifar10", "36 pictures", (file,), ("http://127.0.0.1:9/",), "none stated", "the tests")
    monkeypatch.setitem(data.DATA_SETS, "cifar10", small)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / file.name).write_bytes(content)
    assert data.load("cifar10").train_x.shape[1:] == (3, 32, 32)


def test_without_the_archive_there_is_no_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    assert data.find("cifar10") == "absent"
    with pytest.raises(DataError, match=r"cifar10 is neither .*`python -m lnbook data --download cifar10"):
        data.load("cifar10")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({k: v for k, v in whole().items() if k != "data_batch_3.bin"}, r"no data_batch_3\.bin"),
        (whole() | {"test_batch.bin": records(*batch(5))[:-1]}, "no whole number of 3073"),
        (whole() | {"test_batch.bin": b""}, "test_batch.bin .* 0 bytes"),
        (whole() | {"data_batch_1.bin": b"\x0a" + bytes(3072)}, "label 10; the 10 classes"),
    ],
    ids=["a batch missing", "cut short", "empty", "label"],
)
def test_an_archive_that_is_not_cifar_10_is_refused(
    tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(archive(members))
    with pytest.raises(DataError, match=message):
        cifar_images(path, {})


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(gzip.compress(b"not a tar archive at all" * 100))
    with pytest.raises(DataError, match="not CIFAR-10's archive"):
        cifar_images(path, {})
