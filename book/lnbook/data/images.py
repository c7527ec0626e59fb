"""Labelled pictures: the formats they are published in, scikit-learn's digits, and the paper's split.

The published files have passed their SHA-256 before they come here, so their form is not checked again.
"""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32, Int64, UInt8

from .datasets import DataError
from .sources import OnStandIn, content, published, tar_members

Part = Literal["train", "valid", "test"]

NO_LABEL = -1
_DIGITS_TEST = 360  # the last fifth of the 1,797
_HALF = 8  # of the digits' 0..16


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

        >>> x, y = load("digits").flat("test")
        >>> x.shape, float(x.max()), y[:3].tolist()
        ((360, 64), 1.0, [2, 3, 4])
        """
        x, y = getattr(self, f"{part}_x"), getattr(self, f"{part}_y")
        return (x.reshape(len(x), -1) / np.float32(self.peak)).astype(np.float32, copy=False), y


def load(name: str, *, on_stand_in: OnStandIn = "warn") -> Images:
    """A set of pictures by name: "mnist", "fashion_mnist", "binarized_mnist", "cifar10", "digits" or
    "binarized_digits".

    `on_stand_in`, what is raised and what the provenance holds are as in `lnbook.data.published`; its sha256,
    for digits, is that of pixels and labels.

    >>> load("digits").provenance["source"]
    'embedded'
    """
    paths, provenance = published(name, on_stand_in=on_stand_in)
    first = next(iter(paths), provenance["name"])
    if first in ("digits", "binarized_digits"):
        images = _digits(provenance, binary=first == "binarized_digits")
    elif first.endswith(".amat"):
        images = _amat_images(paths, provenance)
    elif first.startswith("cifar"):
        images = _cifar_images(paths[first], provenance)
    elif "-idx" in first:
        images = _idx_images(paths, provenance)
    else:
        raise DataError(f"{name} holds no pictures; its loader is in a module of lnbook.data.")
    provenance["cases"] = sum(map(len, (images.train_x, images.valid_x, images.test_x)))
    return images


def _idx_images(paths: dict[str, Path], provenance: dict[str, Any]) -> Images:
    """MNIST or a set in its form: four IDX files, values 0..255."""
    arrays = {name.removesuffix(".gz"): _idx(content(path)) for name, path in paths.items()}
    names = [f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
    train_x, train_y, test_x, test_y = (arrays[name] for name in names)
    return _split(train_x, train_y, test_x, test_y, 255, provenance)


def _idx(body: bytes) -> UInt8[np.ndarray, "..."]:
    """Two zero bytes, the type, the number of axes; a big-endian length per axis; the values."""
    start = 4 + 4 * body[3]
    shape = struct.unpack(f">{body[3]}I", body[4:start])
    return np.frombuffer(body, np.uint8, offset=start).reshape(shape).copy()  # writable, as torch wants


def _cifar_images(path: Path, provenance: dict[str, Any]) -> Images:
    """CIFAR-10's archive: of each picture a label, then the red, the green and the blue plane."""
    batches = {Path(name).name: body for name, body in tar_members(path).items()}
    train, test = (
        np.frombuffer(b"".join(batches[f"{name}.bin"] for name in names), np.uint8).reshape(-1, 1 + 3 * 1024)
        for names in ([f"data_batch_{k}" for k in range(1, 6)], ["test_batch"])
    )
    train_x, test_x = (table[:, 1:].reshape(-1, 3, 32, 32).copy() for table in (train, test))
    return _split(train_x, train[:, 0], test_x, test[:, 0], 255, provenance)


def _amat_images(paths: dict[str, Path], provenance: dict[str, Any]) -> Images:
    """Larochelle and Murray's fixed binarization of MNIST: no labels, and an order of its own.

    The files are text: one line per picture, its 784 pixels as 0 or 1 with a blank between two.
    """
    texts = [np.frombuffer(content(path), np.uint8) for path in paths.values()]
    parts = [(text[::2] - np.uint8(ord("0"))).reshape(-1, 28, 28) for text in texts]
    train, valid, test = ((x, np.full(len(x), NO_LABEL)) for x in parts)
    return Images(*train, *valid, *test, 1, provenance)


def _digits(provenance: dict[str, Any], binary: bool) -> Images:
    """scikit-learn's 1,797 real 8x8 digits, 1,318 train, 119 valid, 360 test: 0..16, or from a half on 1.

    The parts follow the published order, in which each writer's digits stand together: most test writers
    are none of the training writers.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x, y = bunch.images.astype(np.uint8), bunch.target.astype(np.int64)
    provenance["sha256"] = hashlib.sha256(x.tobytes() + y.astype("<i8").tobytes()).hexdigest()
    if binary:
        x = (x >= _HALF).astype(np.uint8)
    train, test = slice(-_DIGITS_TEST), slice(-_DIGITS_TEST, None)
    return _split(x[train], y[train], x[test], y[test], 1 if binary else 16, provenance)


def _split(
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
    train, valid = (train_x[:cut], train_y[:cut]), (train_x[cut:], train_y[cut:])
    return Images(*train, *valid, test_x, test_y, peak, provenance)
