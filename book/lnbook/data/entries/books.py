"""Whole books, and the prose that serves in their place."""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from lnbook.data.dataset import DataSet, PublishedFile

__all__ = ["DATA_SETS", "Book", "catalogue"]


class Book(NamedTuple):
    """One row of `data/books.csv`: a text file of Project Gutenberg and the commit that holds it."""

    number: str
    title: str
    author: str
    size: str
    sha256: str
    repository: str
    commit: str

    @property
    def published(self) -> PublishedFile:
        """The file, as `books/pg<number>.txt`."""
        raw = "https://raw.githubusercontent.com"
        url = f"{raw}/{self.repository}/{self.commit}/{self.number}.txt"
        return PublishedFile(f"books/pg{self.number}.txt", self.sha256, int(self.size), url)


@cache
def catalogue() -> tuple[Book, ...]:
    """The 43 books, by their number at Project Gutenberg.

    >>> [book.title for book in catalogue()][:2]
    ['The Scarlet Letter', 'The Time Machine']
    """
    text = (files("lnbook") / "data" / "books.csv").read_text(encoding="utf-8")
    return tuple(Book(**row) for row in csv.DictReader(text.splitlines()))


_GUTENBERG = DataSet(
    name="gutenberg",
    title="43 English novels of Project Gutenberg, 6.4 million words",
    files=tuple(book.published for book in catalogue()),
    mirrors=(),
    licence="public domain in the USA; the files come with the Project Gutenberg License",
    citation="Project Gutenberg, www.gutenberg.org; the repositories of GITenberg, www.gitenberg.org",
    stand_in="python_topics",
    alternative=(
        PublishedFile(
            "gutenberg_books.tar.gz",
            "9aa02c27df3b497aeec2dc2f369ea52aaa3613472df612b7465467028e492c2d",
            13_778_396,
        ),
    ),
)

_PYTHON_TOPICS = DataSet(
    name="python_topics",
    title="the prose of Python's own help on its language (ships with CPython)",
    files=(),
    mirrors=(),
    licence="PSF License Version 2",
    citation="Python Software Foundation: The Python Language Reference",
)

DATA_SETS: tuple[DataSet, ...] = (_GUTENBERG, _PYTHON_TOPICS)
