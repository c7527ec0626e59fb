"""Labelled pictures: the IDX format, scikit-learn's digits, and the paper's split."""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32, Int64, UInt8

from .datasets import DataError
from .sources import content as read

__all__ = ["Images", "Part", "digits", "idx_images", "read_idx", "split"]

Part = Literal["train", "valid", "test"]

_IDX_UINT8 = 0x08
_DIGITS_TEST = 360  # the last fifth of the 1,797
_DIGITS_SHA256 = "65e5b4619795efb40c1082f4c350c049e4ad552200d369b6ae99e21eef5e72c5"


@dataclass(frozen=True)
class Images:
    """Pictures with labels in three parts, and where they come from.

    *Source* Section 6.6 trains on 55,000 of MNIST's 60,000 published training cases and does not say
    which. Ours: `valid` is the last twelfth of the published training order (5,000 of 60,000), `train` the
    rest. Pixels are integers 0..`peak` as published, color pictures with an axis of three channels before the
    rows; `flat` scales them.
    """

    train_x: UInt8[np.ndarray, "N *channels h w"]
    train_y: Int64[np.ndarray, " N"]
    valid_x: UInt8[np.ndarray, "V *channels h w"]
    valid_y: Int64[np.ndarray, " V"]
    test_x: UInt8[np.ndarray, "M *channels h w"]
    test_y: Int64[np.ndarray, " M"]
    peak: int
    provenance: dict[str, Any]

    def flat(self, part: Part) -> tuple[Float32[np.ndarray, "N D"], Int64[np.ndarray, " N"]]:
        """The pictures of "train", "valid" or "test" as rows of float32 in [0, 1], and their labels.

        >>> x, y = digits().flat("test")
        >>> x.shape, float(x.max()), y[:3].tolist()
        ((360, 64), 1.0, [2, 3, 4])
        """
        if part not in ("train", "valid", "test"):
            raise DataError(f'The parts are "train", "valid" and "test", not {part!r}.')
        x, y = getattr(self, f"{part}_x"), getattr(self, f"{part}_y")
        return (x.reshape(len(x), -1) / np.float32(self.peak)).astype(np.float32, copy=False), y


def read_idx(path: Path) -> UInt8[np.ndarray, "..."]:
    """The array in an IDX file of unsigned bytes, gzip-compressed if its name ends in `.gz`.

    The format: two zero bytes, the type (0x08: unsigned byte), the number of axes; one big-endian 32-bit
    length per axis; the values, last axis fastest.

    Raises `DataError` with what was expected and what was found when the file is not that, is cut short
    or goes on too long.
    """
    content = read(path)
    if len(content) < 4 or content[:2] != b"\0\0":
        raise DataError(f"{path} is not an IDX file: it begins with {content[:4]!r}, not with two zeros.")
    kind, axes = content[2], content[3]
    if kind != _IDX_UINT8:
        raise DataError(f"{path} has IDX type 0x{kind:02x}; only unsigned bytes (0x08) are expected here.")
    start = 4 + 4 * axes
    if len(content) < start:
        raise DataError(f"{path} is cut short within its header of {axes} axes ({len(content)} bytes).")
    shape = struct.unpack(f">{axes}I", content[4:start])
    values, expected = len(content) - start, int(np.prod(shape, dtype=object)) if axes else 1
    if values != expected:
        raise DataError(f"{path} announces the shape {shape}, {expected} values, but holds {values}.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()  # writable, as torch wants


def _read(plain: Path) -> UInt8[np.ndarray, "..."]:
    published = plain.with_name(f"{plain.name}.gz")
    return read_idx(published if published.is_file() else plain)


def idx_images(folder: Path, provenance: dict[str, Any]) -> Images:
    """MNIST or a set in its form: four IDX files, values 0..255, split as `Images` says."""
    train_x, test_x = (_read(folder / f"{part}-images-idx3-ubyte") for part in ("train", "t10k"))
    train_y, test_y = (_read(folder / f"{part}-labels-idx1-ubyte") for part in ("train", "t10k"))
    for x, y, part in ((train_x, train_y, "train"), (test_x, test_y, "t10k")):
        if x.ndim != 3 or y.shape != x.shape[:1]:
            raise DataError(f"{folder}: {part} images {x.shape} and labels {y.shape} do not belong together.")
    return split(train_x, train_y, test_x, test_y, 255, provenance)


def digits(provenance: dict[str, Any] | None = None) -> Images:
    """scikit-learn's 1,797 real 8x8 digits, values 0..16: 1,318 train, 119 valid, 360 test.

    The parts follow the published order, in which each writer's digits stand together: most test writers
    are none of the training writers.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x, y = bunch.images.astype(np.uint8), bunch.target.astype(np.int64)
    found = hashlib.sha256(x.tobytes() + y.astype("<i8").tobytes()).hexdigest()
    if found != _DIGITS_SHA256:
        raise DataError(
            f"scikit-learn's digits have changed: expected SHA-256 {_DIGITS_SHA256} of pixels and labels, "
            f"found {found}. Install the scikit-learn of constraints.txt."
        )
    cut = len(x) - _DIGITS_TEST
    described = {"name": "digits", "sha256": found} if provenance is None else provenance | {"sha256": found}
    return split(x[:cut], y[:cut], x[cut:], y[cut:], 16, described)


def split(
    train_x: UInt8[np.ndarray, "N *channels h w"],
    train_y: np.ndarray,
    test_x: UInt8[np.ndarray, "M *channels h w"],
    test_y: np.ndarray,
    peak: int,
    provenance: dict[str, Any],
) -> Images:
    """The published training and test cases in three parts, as `Images` says."""
    cut = len(train_x) - len(train_x) // 12
    train_y, test_y = train_y.astype(np.int64), test_y.astype(np.int64)
    cases = {"cases": len(train_x) + len(test_x)}
    return Images(
        train_x[:cut],
        train_y[:cut],
        train_x[cut:],
        train_y[cut:],
        test_x,
        test_y,
        peak,
        provenance | cases,
    )
