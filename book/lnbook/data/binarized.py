"""Binarized pictures: Larochelle and Murray's fixed binarization of MNIST, and its small stand-in.

The published files are text: one line per picture, its 784 pixels as 0 or 1 with a blank between two. They
have no labels, and their order is not MNIST's. A folder may hold them as published, `<name>.amat`, or
compressed, `<name>.amat.gz`; the SHA-256 is that of the text in either case.
"""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from .datasets import DataError
from .images import Images, digits
from .sources import content

__all__ = ["NO_LABEL", "amat_images", "binarized_digits", "read_amat"]

NO_LABEL = -1

_BLANK, _NEWLINE, _ZERO = b" \n0"
_THRESHOLD = 8  # of the digits' 0..16


def read_amat(path: Path, side: int = 28) -> UInt8[np.ndarray, "N side side"]:
    """The pictures of an `.amat` file, or of an `.amat.gz`.

    Raises `DataError` when a line does not hold `side` x `side` pixels, a pixel is neither 0 nor 1, or the
    file is cut short.
    """
    text, width = content(path), 2 * side * side
    line = text.find(b"\n") + 1 or len(text)
    if not text or line != width:
        raise DataError(
            f"{path} has {line // 2} pixels in its first line, and a picture of {side} x {side} has "
            f"{side * side}; it is another data set, or not in this format."
        )
    whole, rest = divmod(len(text), width)
    if rest:
        raise DataError(
            f"{path} is cut short: after {whole} whole pictures {rest} of {width} bytes follow; get it again."
        )
    lines = np.frombuffer(text, np.uint8).reshape(-1, width)
    gaps, pixels = lines[:, 1::2], lines[:, ::2] - np.uint8(_ZERO)
    if (gaps[:, :-1] != _BLANK).any() or (gaps[:, -1] != _NEWLINE).any() or (pixels > 1).any():
        wrong = (gaps[:, :-1] != _BLANK).any(1) | (gaps[:, -1] != _NEWLINE) | (pixels > 1).any(1)
        raise DataError(
            f"{path} is damaged in line {wrong.argmax() + 1}: pixels are 0 or 1 with one blank between two."
        )
    return pixels.reshape(-1, side, side)


def amat_images(paths: list[Path], provenance: dict[str, Any]) -> Images:
    """The published parts: 50,000 pictures to train, 10,000 to validate, 10,000 to test; no labels."""
    parts = [read_amat(path) for path in paths]
    train, valid, test = ((x, np.full(len(x), NO_LABEL)) for x in parts)
    return Images(*train, *valid, *test, 1, provenance | {"cases": sum(map(len, parts))})


def binarized_digits(provenance: dict[str, Any] | None = None) -> Images:
    """scikit-learn's digits, a pixel 1 from half of the greatest value on.

    >>> binarized_digits().train_x.mean().round(3)
    np.float64(0.323)
    """
    grey = digits(provenance)
    train, valid, test = (
        (x >= _THRESHOLD).astype(np.uint8) for x in (grey.train_x, grey.valid_x, grey.test_x)
    )
    return Images(train, grey.train_y, valid, grey.valid_y, test, grey.test_y, 1, grey.provenance)
