"""What can be known about data sets before anything is computed with them: where they are, what is wrong."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import files
from .dataset import DataError, DataSet
from .environment import cache_folder, is_offline
from .registry import data_set

__all__ = ["Finding", "readiness"]


@dataclass(frozen=True)
class Finding:
    """One data set before it is used.

    Args:
        name: of the data set.
        source: "LNLIB_DATA", "cache", "embedded", "absent", or "unusable" where even that cannot be told.
        note: what a reader should know, in a sentence without its end; "" for nothing.
        error: why loading will fail, in sentences with the remedy; "" if no reason is known.
    """

    name: str
    source: str
    note: str = ""
    error: str = ""


def readiness(names: Iterable[str]) -> list[Finding]:
    """Where each data set will come from and what is known to be wrong with it, by names and sizes only.

    Nothing is read, hashed or asked of the network; so a file of the right size may still be corrupt.
    Raises `DataError` for a name that is no data set's.

    >>> readiness(["digits"])
    [Finding(name='digits', source='embedded', note='', error='')]
    """
    return [_finding(data_set(name)) for name in names]


def _finding(entry: DataSet) -> Finding:
    if not entry.files:
        return Finding(entry.name, "embedded")
    try:
        place = files.locate(entry)
        partly = files.passed_over(entry)
        offline = place is None and is_offline()
        source, folder = place or ("absent", cache_folder() / entry.name)
        notes = [f"{partly.folder} is incomplete and passed over: it {partly.lacks}"] if partly else []
        if place is None:
            notes.append(_instead(entry, offline))
        # with downloads off a part of a data set in the cache is not looked at
        return Finding(entry.name, source, "; ".join(notes), "" if offline else _damage(entry, folder))
    except DataError as error:
        return Finding(entry.name, "unusable", error=str(error))


def _instead(entry: DataSet, offline: bool) -> str:
    download = f"download of {entry.size / 1e6:.1f} MB"
    if entry.consent:
        download += f" by `python -m lnbook data --download {entry.name}` (its licence is yours to accept)"
    if offline:
        download = ""
    stand_in = f"stand-in {entry.stand_in}" if entry.stand_in else ""
    return (
        " or ".join(way for way in (download, stand_in) if way) or "nothing stands in, and downloads are off"
    )


def _damage(entry: DataSet, folder: Path) -> str:
    """What is wrong with the files that a folder holds, of those that will be read from it."""
    found = []
    for file in files.held(entry, folder):
        path = files.place(folder, file)
        if not path.is_file():
            continue
        size = path.stat().st_size
        if not os.access(path, os.R_OK):
            found.append(f"{path} cannot be read; see to its permissions.")
        elif size != file.size if path.name == file.name else size == 0:  # of a packed one no size is known
            found.append(
                f"{path} has {size} bytes and the published file {file.size}: it is corrupt or another "
                f"version; move it away and get it again, for example with "
                f"`python -m lnbook data --download {entry.name}`."
            )
    return " ".join(found)
