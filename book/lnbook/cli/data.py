"""`python -m lnbook data`: which data sets are where, and fetching them."""

import argparse
import sys
from collections.abc import Sequence

from lnbook.data import DATA_SETS, DataError, data_set, fetch, verify


def main(argv: Sequence[str]) -> int:
    """List the data sets, after downloading them if asked."""
    parser = argparse.ArgumentParser(prog="python -m lnbook data", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(DATA_SETS)} (default: all)")
    parser.add_argument("--download", action="store_true", help="fetch what is not there into the cache")
    options = parser.parse_args(argv)
    try:
        entries = [data_set(name) for name in options.names or DATA_SETS]
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    rows, status = [("name", "found in", "size", "licence")], 0
    for entry in entries:
        try:
            if options.download:
                fetch(entry.name)
            source = verify(entry.name)
        except DataError as error:
            print(f"{entry.name}: {error}", file=sys.stderr)
            source, status = "unusable", 1
        size = f"{sum(file.size for file in entry.files) / 1e6:.1f} MB" if entry.files else ""
        rows.append((entry.name, source, size, entry.licence))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return status
