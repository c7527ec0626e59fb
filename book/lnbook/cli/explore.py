"""`python -m lnbook explore`: interactive figures as files, which any browser opens without a network."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lnbook import explore
from lnbook.ledger.rows import write_whole

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Write figures, each as a page of its own, and print where they are.

    Returns the exit status: 1 if a file cannot be written, 2 for a figure that does not exist.
    """
    figures = explore.FIGURES
    parser = argparse.ArgumentParser(prog="python -m lnbook explore", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(figures)} (default: all)")
    parser.add_argument("--out", type=Path, default=Path("explore"), help="folder of the files (%(default)s)")
    parser.add_argument(
        "--seed", type=int, default=0, help="of what the figures draw at random (%(default)s)"
    )
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in figures]:
        print(
            f"lnbook explore: no figure is called {', '.join(unknown)}; choose from {', '.join(figures)}",
            file=sys.stderr,
        )
        return 2
    if options.seed < 0:
        print(f"lnbook explore: a seed is a whole number from 0 on, got {options.seed}", file=sys.stderr)
        return 2
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for name in dict.fromkeys(options.names or figures):
            path = options.out / f"{name}.html"
            write_whole(path, explore.builder(name)(seed=options.seed).to_html().encode())
            print(path)
    except OSError as error:
        print(f"lnbook explore: {error}; give another folder with --out", file=sys.stderr)
        return 1
    return 0
