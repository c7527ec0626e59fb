"""MPQA's phrases from a user's folder: is an opinion positive or negative?

Their license does not let us redistribute them. `$LNLIB_DATA/mpqa/` must hold `mpqa.pos` and `mpqa.neg` in
the form used since Wang and Manning (2012): one phrase per line, in Latin-1.
"""

from typing import Any

import numpy as np

from .datasets import DataError
from .sentences import Labelled
from .users import provenance_of, read_text, users_own

__all__ = ["load_mpqa"]

FILES = ("mpqa.pos", "mpqa.neg")  # the classes 1 and 0
FOLDS = 10


def load_mpqa() -> tuple[Labelled, dict[str, Any]]:
    """All phrases, the positive ones first, and their provenance.

    Raises DataError if there is no such folder, a file is missing or is no text, or a class has fewer phrases
    than there are folds.
    """
    folder = users_own("mpqa", f"Put {' and '.join(FILES)} there, or use sentence_classification.")
    # not splitlines, which takes some letters of Windows' Latin-1 for line ends
    lines = [read_text(folder / name, "latin-1").split("\n") for name in FILES]
    found = [[line.strip() for line in part if line.strip()] for part in lines]
    if min(map(len, found)) < FOLDS:
        raise DataError(f"{folder} has {list(map(len, found))} phrases; {FOLDS} folds need {FOLDS} each.")
    provenance = provenance_of(
        folder,
        "may not be redistributed",
        "Wiebe, Wilson, Cardie (2005); as prepared by Wang, Manning (ACL 2012)",
        cases=sum(map(len, found)),
    )
    return Labelled((*found[0], *found[1]), np.repeat([1, 0], [len(part) for part in found])), provenance
