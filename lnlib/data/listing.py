"""`python -m lnlib data`: which data sets are where, and fetching them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import files
from .dataset import DataError, DataSet
from .registry import DATA_SETS, data_set

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """List the data sets, after downloading them if asked.

    Returns the exit status: 1 if one is corrupt, unusable or cannot be fetched, 2 for an unknown name.
    """
    parser = argparse.ArgumentParser(prog="python -m lnlib data", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(DATA_SETS)} (default: all)")
    parser.add_argument("--download", action="store_true", help="fetch what is not there into the cache")
    options = parser.parse_args(argv)
    status = 0
    try:
        entries = [data_set(name) for name in options.names] or list(DATA_SETS.values())
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    if options.download:
        for entry in entries:
            status |= _fetch(entry)
    rows = [("name", "found in", "size", "licence", "path")]
    for entry in entries:
        found, path = _describe(entry)
        rows.append((entry.name, found, _size(entry), entry.licence, path))
        status |= found in ("corrupt", "unusable")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return status


def _fetch(entry: DataSet) -> int:
    try:
        if files.locate(entry) is None:
            files.download(entry)
    except (DataError, files.DownloadFailed) as error:
        print(f"{entry.name}: {error}", file=sys.stderr)
        return 1
    return 0


def _describe(entry: DataSet) -> tuple[str, str]:
    """The column "found in" and the path; a damaged data set is explained on stderr."""
    if not entry.files:
        return "embedded", ""
    try:
        place = files.locate(entry)
    except DataError as error:
        print(error, file=sys.stderr)
        return "unusable", ""
    if place is None:
        return "absent", ""
    source, folder = place
    try:
        files.verify(entry, folder)
    except DataError as error:
        print(error, file=sys.stderr)
        source = "corrupt"
    return source, _shown(folder)


def _shown(folder: Path) -> str:
    """A folder under the current one relative to it, any other as it was found."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


def _size(entry: DataSet) -> str:
    return f"{entry.size / 1e6:.1f} MB" if entry.files else ""
