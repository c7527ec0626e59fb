"""Karpathy's split of COCO: the part and the captions of each picture.

*Source* `dataset_coco.json` of the caption data sets that Karpathy and Fei-Fei (2015) published: "images",
each with its "cocoid", "filename", "split" and "sentences", and each sentence with its "tokens". Of the
123,287 pictures, "train" has 82,783, "restval", which joins it, 30,504, "val" 5,000 and "test" 5,000.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from .dataset import DataError
from .users import read_text

__all__ = ["CAPTIONS", "Split", "read_files", "read_split"]

# of each picture; some have six or seven, and we take the first five, as the publishers of features do
CAPTIONS = 5
JSON_BYTES = 2**29  # at most; the published file has 144 MB
PARTS = {"train": "train", "restval": "train", "val": "valid", "test": "test"}


@dataclass(frozen=True)
class Split:
    """One part.

    Args:
        rows: of its pictures, in the list of all pictures.
        texts: their captions, five per picture, picture after picture.
    """

    rows: Int64[np.ndarray, " I"]
    texts: list[str]


def read_split(path: Path) -> tuple[dict[str, Split], int]:
    """The parts "train", "valid" and "test", and how many pictures are listed.

    Raises DataError for a file that is not JSON in UTF-8, for a picture that is listed twice, in an unknown
    part, or with fewer than five captions that have words, and for a part without pictures.
    """
    images = _listed(path)
    rows: dict[str, list[int]] = {part: [] for part in PARTS.values()}
    texts: dict[str, list[str]] = {part: [] for part in rows}
    seen: set[int] = set()
    for row, image in enumerate(images):
        where = f'{path}, picture {row} of "images"'
        number, part, captions = _picture(image, where)
        if number in seen:
            raise DataError(f"{where} has cocoid {number}, as an earlier picture has; get the file again.")
        seen.add(number)
        rows[part].append(row)
        texts[part] += captions
    if empty := [part for part in rows if not rows[part]]:
        raise DataError(
            f"{path} lists {len(images)} pictures, but none for {', '.join(empty)}; get it again."
        )
    return {part: Split(np.array(rows[part]), texts[part]) for part in rows}, len(images)


def read_files(path: Path) -> list[str]:
    """Where each listed picture's file is, from the folder that holds COCO's: such as "val2014/COCO_....jpg".

    Raises DataError as `read_split` does, and for a name that leads out of that folder.
    """
    found = []
    for row, image in enumerate(_listed(path)):
        where = f'{path}, picture {row} of "images"'
        names = [image.get(key, "") for key in ("filepath", "filename")] if isinstance(image, dict) else [""]
        if not names[-1] or not all(
            isinstance(name, str) and re.fullmatch(r"[\w-][\w.-]*|", name) for name in names
        ):
            raise DataError(
                f'{where} names its file {names}; "filepath" and "filename" are plain names, such as '
                f"val2014 and COCO_val2014_000000000042.jpg. Get the file again."
            )
        found.append("/".join(name for name in names if name))
    return found


def _listed(path: Path) -> list[Any]:
    """The entries of "images", whatever they are."""
    try:
        listing = json.loads(read_text(path, JSON_BYTES))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not complete JSON ({error}); get it again.") from error
    images = listing.get("images") if isinstance(listing, dict) else None
    if not isinstance(images, list):
        raise DataError(f'{path} is not Karpathy\'s list: it has no "images". Get dataset_coco.json.')
    return images


def _picture(image: Any, where: str) -> tuple[int, str, list[str]]:
    """Number, part and captions of one picture."""
    try:
        number, split = image["cocoid"], image["split"]
        told = [said["tokens"] for said in image["sentences"][:CAPTIONS]]
        if not all(isinstance(tokens, list) for tokens in told):
            raise TypeError("tokens must be a list")
        captions = [" ".join(tokens) for tokens in told]
    except (KeyError, TypeError) as error:
        raise DataError(
            f'{where} is not as published: it needs "cocoid", "split" and "sentences" with "tokens" '
            f"({error!r}). Get dataset_coco.json again."
        ) from error
    if not isinstance(number, int) or not isinstance(split, str) or split not in PARTS:
        raise DataError(
            f"{where} has cocoid {number!r} and split {split!r}; they must be a number and one of "
            f"{', '.join(PARTS)}."
        )
    if len(captions) < CAPTIONS or not all(caption.strip() for caption in captions):
        raise DataError(
            f"{where} (cocoid {number}) has {sum(bool(c.strip()) for c in captions)} captions with words "
            f"among its first {CAPTIONS}; it needs {CAPTIONS}. Get the file again."
        )
    return number, PARTS[split], captions
