"""`python -m lnbook data`: which data sets are where, and fetching them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lnbook.data import DATA_SETS, DataError, data_set, fetch, readiness

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
    names, status = options.names or list(DATA_SETS), 0
    try:
        if options.download:
            status |= any(fetch(names, lambda line: print(line, file=sys.stderr)).values())
        findings = readiness(names)
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    rows = [("name", "found in", "size", "licence", "path")]
    for found in findings:
        entry = data_set(found.name)
        size = f"{entry.size / 1e6:.1f} MB" if entry.files else ""
        source = "corrupt" if found.error and found.folder else found.source
        rows.append((found.name, source, size, entry.licence, _shown(found.folder)))
        if found.error or (found.note and found.source != "absent"):
            print(found.error or found.note, file=sys.stderr)
            status = 1
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return status


def _shown(folder: Path | None) -> str:
    """A folder under the current one relative to it, any other as it was found."""
    here = Path.cwd()
    return str(folder.relative_to(here) if folder and folder.is_relative_to(here) else folder or "")
