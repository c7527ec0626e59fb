"""MPQA's phrases from a user's folder: is an opinion positive or negative?

Their license does not let us redistribute them. `$LNLIB_DATA/mpqa/` must hold `mpqa.pos` and `mpqa.neg` in
the form used since Wang and Manning (2012): one phrase per line, in Latin-1 or UTF-8.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from .dataset import DataError
from .environment import users_folder
from .files import digest_of_folder
from .lookup import noted
from .sentences import Labelled
from .users import read_bytes

__all__ = ["load_mpqa", "phrases", "present"]

NAME = "mpqa"
FILES = ("mpqa.pos", "mpqa.neg")  # the classes 1 and 0
FILE_BYTES = 2**24  # at most; the larger one has some 200 kB
LEAST = 10  # phrases per class, so that each of ten folds tests one


def present() -> bool:
    """Whether the user has a folder `mpqa`, whatever it holds."""
    root = users_folder()
    return root is not None and (root / NAME).is_dir()


def phrases(path: Path) -> list[str]:
    """The phrases of one file, without empty lines; decoded as UTF-8 if all of it is that, else as Latin-1.

    Raises DataError for a file that is not text in either encoding, and for fewer than ten phrases.
    """
    if not path.exists():
        raise DataError(
            f"{path} is not there; put {' and '.join(FILES)} into that folder, or remove the folder to use "
            f"pros and cons instead."
        )
    content = read_bytes(path, FILE_BYTES)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if wrong := re.search(r"[\0-\x08\x0e-\x1f]", text):  # as in UTF-16, or in a file that is not text
        line = text.count("\n", 0, wrong.start()) + 1
        raise DataError(f"{path}, line {line} is not Latin-1 or UTF-8 text; save the file in one of these.")
    # not splitlines, which takes some letters of Windows' Latin-1 for line ends
    found = [line.strip() for line in text.split("\n") if line.strip()]
    if len(found) < LEAST:
        raise DataError(f"{path} has {len(found)} phrases, one per line; ten folds need at least {LEAST}.")
    return found


def load_mpqa() -> tuple[Labelled, dict[str, Any]]:
    """All phrases, the positive ones first, and their provenance.

    Raises DataError if there is no such folder, and as `phrases` does.
    """
    root = users_folder()
    if root is None or not present():
        raise DataError(
            f"MPQA may not be redistributed: put {' and '.join(FILES)} into $LNLIB_DATA/{NAME}/, or use "
            f"sentence_classification."
        )
    texts = [phrases(root / NAME / name) for name in FILES]
    provenance = {
        "name": NAME,
        "requested": NAME,
        "source": "LNLIB_DATA",
        "licence": "may not be redistributed",
        "citation": "Wiebe, Wilson, Cardie (2005); as prepared by Wang, Manning (ACL 2012)",
        "sha256": digest_of_folder(root / NAME),
        "cases": sum(map(len, texts)),
    }
    labels = np.repeat([1, 0], [len(found) for found in texts])
    return Labelled((*texts[0], *texts[1]), labels), noted(provenance)
