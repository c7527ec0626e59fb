"""MPQA's phrases from a user's folder: is an opinion positive or negative?

Their license does not let us redistribute them. `$LNLIB_DATA/mpqa/` must hold `mpqa.pos` and `mpqa.neg` in
the form used since Wang and Manning (2012): one phrase per line, in Latin-1.
"""

from typing import Any

from .sentences import Labelled, labelled
from .users import provenance_of, reading, users_own

FILES = ("mpqa.pos", "mpqa.neg")  # the classes 1 and 0


def load_mpqa() -> tuple[Labelled, dict[str, Any]]:
    """All phrases, the positive ones first, and their provenance; `DataError` where they are not there."""
    folder = users_own("mpqa", f"Put {' and '.join(FILES)} there, or use sentence_classification.")
    found = []
    for name in FILES:
        with reading(folder / name):  # not splitlines, which takes some letters of Windows for line ends
            found.append((folder / name).read_text("latin-1").split("\n"))
    held = labelled(found)
    citation = "Wiebe, Wilson, Cardie (2005); as prepared by Wang, Manning (ACL 2012)"
    return held, provenance_of(folder, "may not be redistributed", citation, cases=len(held.texts))
