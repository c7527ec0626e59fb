"""`python -m lnbook data`: which data sets are where, and fetching them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lnbook.data import files
from lnbook.data.dataset import DataError, DataSet
from lnbook.data.fetching import fetch
from lnbook.data.registry import DATA_SETS, data_set

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """List the data sets, after downloading them if asked.

    Returns the exit status: 1 if one is corrupt, incomplete, unusable or cannot be fetched, 2 for an unknown
    name or setting.
    """
    parser = argparse.ArgumentParser(prog="python -m lnbook data", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(DATA_SETS)} (default: all)")
    parser.add_argument("--download", action="store_true", help="fetch what is not there into the cache")
    options = parser.parse_args(argv)
    status = 0
    try:
        entries = [data_set(name) for name in options.names] or list(DATA_SETS.values())
        if options.download:
            status |= _fetch([entry.name for entry in entries])
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    rows = [("name", "found in", "size", "licence", "path")]
    for entry in entries:
        found, path, sound = _describe(entry)
        rows.append((entry.name, found, _size(entry), entry.licence, path))
        status |= not sound
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return status


def _fetch(names: Sequence[str]) -> int:
    return int(any(fetch(names, lambda line: print(line, file=sys.stderr)).values()))


def _describe(entry: DataSet) -> tuple[str, str, bool]:
    """The column "found in", the path, and whether all is well; what is not is explained on stderr."""
    if not entry.files:
        return "embedded", "", True
    try:
        partly = files.passed_over(entry)
        source, folder = files.locate(entry) or ("absent", None)
    except DataError as error:
        print(error, file=sys.stderr)
        return "unusable", "", False
    sound = True
    if folder is not None:
        try:
            files.verify(entry, folder)
        except DataError as error:
            print(error, file=sys.stderr)
            source, sound = "corrupt", False
    if partly:
        print(
            f"{partly.folder} is incomplete and passed over: it {partly.lacks}. Copy the missing files into "
            f"it or take the others away.",
            file=sys.stderr,
        )
        source, sound = f"{source} (LNLIB_DATA: incomplete)", False
    return source, _shown(folder) if folder else "", sound


def _shown(folder: Path) -> str:
    """A folder under the current one relative to it, any other as it was found."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


def _size(entry: DataSet) -> str:
    return f"{entry.size / 1e6:.1f} MB" if entry.files else ""
