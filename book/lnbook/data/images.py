"""Labelled pictures: the formats they are published in, scikit-learn's digits, and the paper's split.

The published files have passed their SHA-256 before they come here, so their form is not checked again.
"""

import gzip
import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32, Int64, UInt8

from .sources import DataError, OnStandIn, Provenance, published

Part = Literal["train", "valid", "test"]

NO_LABEL = -1
_DIGITS_TEST = 360  # the last fifth of the 1,797
_HALF = 8  # of the digits' 0..16


@dataclass(frozen=True)
class Images:
    """Pictures with labels in three parts, and where they come from.

    *Source* Section 6.6 trains on 55,000 of MNIST's 60,000 published training cases and does not say
    which. Ours: `valid` is the last twelfth of the published training order (5,000 of 60,000), `train` the
    rest. Pixels are integers 0..`peak` as published; `flat` scales them.
    """

    train_x: UInt8[np.ndarray, "N *channels h w"]
    train_y: Int64[np.ndarray, " N"]
    valid_x: UInt8[np.ndarray, "V *channels h w"]
    valid_y: Int64[np.ndarray, " V"]
    test_x: UInt8[np.ndarray, "M *channels h w"]
    test_y: Int64[np.ndarray, " M"]
    peak: int
    provenance: Provenance

    def flat(self, part: Part) -> tuple[Float32[np.ndarray, "N D"], Int64[np.ndarray, " N"]]:
        """The pictures of "train", "valid" or "test" as rows of float32 in [0, 1], and their labels.

        >>> x, y = load("digits").flat("test")
        >>> x.shape, float(x.max()), y[:3].tolist()
        ((360, 64), 1.0, [2, 3, 4])
        """
        x, y = getattr(self, f"{part}_x"), getattr(self, f"{part}_y")
        return (x.reshape(len(x), -1) / np.float32(self.peak)).astype(np.float32, copy=False), y


def load(name: str, *, on_stand_in: OnStandIn = "warn") -> Images:
    """A set of pictures by name: "mnist", "fashion_mnist", "binarized_mnist", "digits" or "binarized_digits".

    `on_stand_in` and the provenance are as in `published`, the sha256 of digits that of pixels and labels.
    """
    files, provenance = published(name, on_stand_in=on_stand_in)
    first = next(iter(files), provenance["name"])
    if first in ("digits", "binarized_digits"):
        images = _digits(provenance, binary=first == "binarized_digits")
    elif first.endswith(".amat"):
        images = _amat_images(files, provenance)
    elif "-idx" in first:
        images = _split(map(_idx, files.values()), 255, provenance)
    else:
        raise DataError(f"{name} holds no pictures; its loader is in a module of lnbook.data.")
    provenance["cases"] = sum(map(len, (images.train_x, images.valid_x, images.test_x)))
    return images


def _idx(body: bytes) -> UInt8[np.ndarray, "..."]:
    """Two zero bytes, the type, the number of axes; a big-endian length per axis; the values: or packed."""
    if body[0]:
        body = gzip.decompress(body)
    start = 4 + 4 * body[3]
    shape = struct.unpack(f">{body[3]}I", body[4:start])
    return np.frombuffer(body, np.uint8, offset=start).reshape(shape).copy()  # writable, as torch wants


def _amat_images(files: dict[str, bytes], provenance: Provenance) -> Images:
    """Larochelle and Murray's MNIST: no labels; a line per picture, 784 times 0 or 1, a blank between two."""
    texts = [np.frombuffer(body, np.uint8) for body in files.values()]
    parts = [(text[::2] - np.uint8(ord("0"))).reshape(-1, 28, 28) for text in texts]
    train, valid, test = ((x, np.full(len(x), NO_LABEL)) for x in parts)
    return Images(*train, *valid, *test, 1, provenance)


def _digits(provenance: Provenance, binary: bool) -> Images:
    """scikit-learn's 1,797 real 8x8 digits, 0..16 or, from a half on, 1, in the order of their writers."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x, y = bunch.images.astype(np.uint8), bunch.target.astype(np.int64)
    provenance["sha256"] = hashlib.sha256(x.tobytes() + y.astype("<i8").tobytes()).hexdigest()
    if binary:
        x = (x >= _HALF).astype(np.uint8)
    arrays = (x[:-_DIGITS_TEST], y[:-_DIGITS_TEST], x[-_DIGITS_TEST:], y[-_DIGITS_TEST:])
    return _split(arrays, 1 if binary else 16, provenance)


def _split(arrays: Iterable[np.ndarray], peak: int, provenance: Provenance) -> Images:
    """Pictures and labels of the published training and test cases, in three parts, as `Images` says."""
    x, labels, test_x, test_labels = arrays
    y, test_y = labels.astype(np.int64), test_labels.astype(np.int64)
    cut = len(x) - len(x) // 12
    return Images(x[:cut], y[:cut], x[cut:], y[cut:], test_x, test_y, peak, provenance)
