"""Which data a page read, as a sentence for its readers."""

import re

from .sources import Provenance, data_set


def data_in_words(provenance: Provenance, wanted: str) -> str:
    """What was read, by its provenance; and, if it stands in for what the page is about, what it cannot show.

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
