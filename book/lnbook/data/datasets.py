"""The table of data sets: `datasets.toml`, with a name, hashes, addresses and a license for each."""

import csv
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


class DataError(ValueError):
    """A data set that is not what it must be: unknown, corrupt or not available."""


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


def _text(name: str) -> str:
    return (files("lnbook") / "data" / name).read_text(encoding="utf-8")


def books() -> dict[str, PublishedFile]:
    """The 43 novels of Project Gutenberg in `books.csv`, by title: each a file of a repository's commit."""
    raw, found = "https://raw.githubusercontent.com", {}
    for row in csv.DictReader(_text("books.csv").splitlines()):
        url = f"{raw}/{row['repository']}/{row['commit']}/{row['number']}.txt"
        found[row["title"]] = PublishedFile(
            f"books/pg{row['number']}.txt", row["sha256"], int(row["size"]), url
        )
    return found


def _entry(name: str, row: dict[str, Any]) -> DataSet:
    for kind in ("files", "alternative"):
        row[kind] = tuple(PublishedFile(**file) for file in row.get(kind, ()))
    if name == "gutenberg":
        row["files"] = tuple(books().values())
    return DataSet(name, **row | {"mirrors": tuple(row.get("mirrors", ()))})


DATA_SETS = {name: _entry(name, row) for name, row in tomllib.loads(_text("datasets.toml")).items()}


def data_set(name: str) -> DataSet:
    """The entry of that name; raises `DataError`, with the known names, for any other."""
    if name not in DATA_SETS:
        raise DataError(f"There is no data set {name!r}; the known names are {', '.join(DATA_SETS)}.")
    return DATA_SETS[name]
