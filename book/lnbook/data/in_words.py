"""Which data a page read, as a sentence for its readers."""

import re
from collections.abc import Mapping
from typing import Any

from .sources import data_set


def data_in_words(provenance: Mapping[str, Any], wanted: str) -> str:
    """What was read; and, if it stands in for something else, what cannot be expected of it.

    Args:
        provenance: of the data that a page shows, as their loader gives it.
        wanted: the name of the data that the page is about.

    >>> from lnbook.data import load
    >>> data_in_words(load("digits").provenance, "digits")
    'This run read Digits.'
    >>> data_in_words(load("digits").provenance, "mnist")[:59]
    'This run read Digits in place of MNIST, so its numbers are '
    """
    name, other = (_short(data_set(key).title) for key in (provenance["name"], wanted))
    if provenance["name"] == wanted:
        return f"This run read {name}."
    return (
        f"This run read {name} in place of {other}, so its numbers are of another size. What the text says "
        f"of results was found on {other}; where the numbers differ from it, the stand-in cannot show it."
    )


def _short(title: str) -> str:
    """A title without what it adds: how many there are (a page may read fewer), and what is in brackets."""
    return re.split(r"[:,]| \(", title.lstrip("0123456789 "), maxsplit=1)[0]
