"""CIFAR-10's binary version: color pictures in an archive of records, read without unpickling anything."""

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt8

from .datasets import DataError
from .images import Images, split
from .sources import content

__all__ = ["cifar_images"]

_SIDE, _COLORS, _CLASSES = 32, 3, 10
_RECORD = 1 + _COLORS * _SIDE**2  # a label, then the red, the green and the blue plane
_TRAIN = [f"data_batch_{k}.bin" for k in range(1, 6)]


def cifar_images(path: Path, provenance: dict[str, Any]) -> Images:
    """The pictures of `cifar-10-binary.tar.gz`, three color planes each, split as `Images` says.

    Raises `DataError` when the archive is damaged, lacks a batch, or a batch is no whole number of records
    with labels 0 to 9.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(content(path)), mode="r:") as archive:
            found = {Path(member.name).name: member for member in archive if member.isfile()}
            batches = {name: _read(archive, found, name) for name in (*_TRAIN, "test_batch.bin")}
    except (tarfile.TarError, KeyError) as error:
        raise DataError(f"{path} is not CIFAR-10's archive: {error}; get it again.") from error
    records = {name: _records(path, name, batch) for name, batch in batches.items()}
    train_x, train_y = (np.concatenate([records[name][part] for name in _TRAIN]) for part in (0, 1))
    return split(train_x, train_y, *records["test_batch.bin"], 255, provenance)


def _read(archive: tarfile.TarFile, found: dict[str, tarfile.TarInfo], name: str) -> bytes:
    if name not in found:
        raise KeyError(f"no {name} in it")
    stream = archive.extractfile(found[name])
    assert stream is not None  # it is a file
    return stream.read()


def _records(
    path: Path, name: str, batch: bytes
) -> tuple[UInt8[np.ndarray, "N 3 32 32"], Int64[np.ndarray, " N"]]:
    if not batch or len(batch) % _RECORD:
        raise DataError(f"{name} in {path} has {len(batch)} bytes, no whole number of {_RECORD} a picture.")
    table = np.frombuffer(batch, np.uint8).reshape(-1, _RECORD)
    labels = table[:, 0].astype(np.int64)
    if labels.max() >= _CLASSES:
        raise DataError(f"{name} in {path} has label {labels.max()}; the {_CLASSES} classes are 0 to 9.")
    return table[:, 1:].reshape(-1, _COLORS, _SIDE, _SIDE).copy(), labels
