"""The table of data sets: `datasets.toml`, with a name, hashes, addresses and a license for each."""

import csv
import difflib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

__all__ = ["DATA_SETS", "DataError", "DataSet", "PublishedFile", "books", "data_set"]


class DataError(ValueError):
    """A data set that is not what it must be: unknown, incomplete, corrupt or not available."""


@dataclass(frozen=True)
class PublishedFile:
    """One file as its authors publish it; `sha256` and `size` (in bytes) are of the file as downloaded.

    `url` is its whole address, for a file that is not on a mirror of its data set.
    """

    name: str
    sha256: str
    size: int
    url: str = ""


@dataclass(frozen=True)
class DataSet:
    """One entry of the table; the head of `datasets.toml` explains its fields."""

    name: str
    title: str
    files: tuple[PublishedFile, ...]
    mirrors: tuple[str, ...]
    licence: str
    citation: str
    stand_in: str | None = None
    alternative: tuple[PublishedFile, ...] = ()
    consent: bool = False

    @property
    def size(self) -> int:
        """Bytes of all published files together."""
        return sum(file.size for file in self.files)


def books() -> dict[str, PublishedFile]:
    """The 43 novels of Project Gutenberg in `books.csv`, by title: each a file of a repository's commit.

    >>> list(books())[:2]
    ['The Scarlet Letter', 'The Time Machine']
    """
    rows = csv.DictReader((files("lnbook") / "data" / "books.csv").read_text(encoding="utf-8").splitlines())
    raw = "https://raw.githubusercontent.com"
    return {
        row["title"]: PublishedFile(
            f"books/pg{row['number']}.txt",
            row["sha256"],
            int(row["size"]),
            f"{raw}/{row['repository']}/{row['commit']}/{row['number']}.txt",
        )
        for row in rows
    }


def _entry(name: str, row: dict[str, Any]) -> DataSet:
    published = tuple(PublishedFile(**file) for file in row.pop("files", ()))
    row["alternative"] = tuple(PublishedFile(**file) for file in row.get("alternative", ()))
    row["mirrors"] = tuple(row.get("mirrors", ()))
    return DataSet(name, files=tuple(books().values()) if name == "gutenberg" else published, **row)


DATA_SETS: dict[str, DataSet] = {
    name: _entry(name, row)
    for name, row in tomllib.loads(
        (files("lnbook") / "data" / "datasets.toml").read_text(encoding="utf-8")
    ).items()
}


def data_set(name: str) -> DataSet:
    """The entry of that name.

    Raises `DataError`, with the known names and the nearest of them, for any other name.

    >>> data_set("mnist").licence
    'CC BY-SA 3.0'
    """
    if name in DATA_SETS:
        return DATA_SETS[name]
    near = difflib.get_close_matches(str(name), DATA_SETS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(f"There is no data set {name!r}; the known names are {', '.join(DATA_SETS)}.{hint}")
