"""The registry: every data set of the book by its name."""

import difflib

from .dataset import DataError, DataSet
from .entries import books, captions, images, questions, sentences, strokes

__all__ = ["DATA_SETS", "data_set"]

DATA_SETS: dict[str, DataSet] = {
    entry.name: entry
    for kind in (images, captions, questions, books, sentences, strokes)
    for entry in kind.DATA_SETS
}


def data_set(name: str) -> DataSet:
    """The registry's entry of that name.

    Raises `DataError`, with the known names and the nearest of them, for any other name.

    >>> data_set("mnist").licence
    'CC BY-SA 3.0'
    """
    if name in DATA_SETS:
        return DATA_SETS[name]
    near = difflib.get_close_matches(str(name), DATA_SETS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(f"There is no data set {name!r}; the known names are {', '.join(DATA_SETS)}.{hint}")
