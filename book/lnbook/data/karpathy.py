"""Karpathy's split of COCO: which picture is in which part, and its captions.

*Source* `dataset_coco.json` of the caption data sets that Karpathy and Fei-Fei (2015) published: "images",
and of each its "cocoid", "filename", "split" and "sentences", which have "tokens". Of the 123,287 pictures
"train" has 82,783, "restval" 30,504, which join it, "val" 5,000 and "test" 5,000.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from .dataset import DataError
from .users import read_text

__all__ = ["CAPTIONS", "Split", "read_split"]

CAPTIONS = (
    5  # of each picture; some have six or seven, and as those who publish features do we take the first
)
JSON_BYTES = 2**29  # at most; the published file has 144 MB
PARTS = {"train": "train", "restval": "train", "val": "valid", "test": "test"}


@dataclass(frozen=True)
class Split:
    """One part.

    Args:
        rows: of its pictures among all that are listed.
        texts: their captions, five of a picture one after another.
    """

    rows: Int64[np.ndarray, " I"]
    texts: list[str]


def read_split(path: Path) -> tuple[dict[str, Split], int]:
    """The parts "train", "valid" and "test", and how many pictures are listed.

    Raises DataError for what is no such file: no JSON in UTF-8, a picture that is listed twice, with another
    part, or with fewer than five captions that have words; a part without pictures.
    """
    try:
        listing = json.loads(read_text(path, JSON_BYTES))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is no whole JSON ({error}); get it again.") from error
    images = listing.get("images") if isinstance(listing, dict) else None
    if not isinstance(images, list):
        raise DataError(f'{path} is not Karpathy\'s list: it has no "images". Get dataset_coco.json.')
    rows: dict[str, list[int]] = {part: [] for part in PARTS.values()}
    texts: dict[str, list[str]] = {part: [] for part in rows}
    seen: set[int] = set()
    for row, image in enumerate(images):
        where = f'{path}, picture {row} of "images"'
        number, part, captions = _picture(image, where)
        if number in seen:
            raise DataError(f"{where} is cocoid {number}, which is listed before; get the file again.")
        seen.add(number)
        rows[part].append(row)
        texts[part] += captions
    if empty := [part for part in rows if not rows[part]]:
        raise DataError(
            f"{path} lists {len(images)} pictures, and none for {', '.join(empty)}; get it again."
        )
    return {part: Split(np.array(rows[part]), texts[part]) for part in rows}, len(images)


def _picture(image: Any, where: str) -> tuple[int, str, list[str]]:
    """Number, part and captions of one picture."""
    try:
        number, split = image["cocoid"], image["split"]
        told = [said["tokens"] for said in image["sentences"][:CAPTIONS]]
        if not all(isinstance(tokens, list) for tokens in told):
            raise TypeError("tokens are a list")
        captions = [" ".join(tokens) for tokens in told]
    except (KeyError, TypeError) as error:
        raise DataError(
            f'{where} is not as published: it needs "cocoid", "split" and "sentences" with "tokens" '
            f"({error!r}). Get dataset_coco.json again."
        ) from error
    if not isinstance(number, int) or not isinstance(split, str) or split not in PARTS:
        raise DataError(
            f"{where} has cocoid {number!r} and split {split!r}; they are a number and one of "
            f"{', '.join(PARTS)}."
        )
    if len(captions) < CAPTIONS or not all(caption.strip() for caption in captions):
        raise DataError(
            f"{where} (cocoid {number}) has {sum(bool(c.strip()) for c in captions)} captions with words "
            f"among its first {CAPTIONS}; it needs {CAPTIONS}."
        )
    return number, PARTS[split], captions
