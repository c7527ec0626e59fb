"""`python -m lnbook explore`: interactive figures as files, which any browser opens without a network."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lnbook import explore
from lnbook.ledger.rows import write_whole


def main(argv: Sequence[str]) -> int:
    """Write figures, each as a page of its own, and print where they are."""
    figures = explore.FIGURES
    parser = argparse.ArgumentParser(prog="python -m lnbook explore", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(figures)} (default: all)")
    parser.add_argument("--out", type=Path, default=Path("explore"), help="folder of the files (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of what they draw at random (%(default)s)")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in figures]:
        parser.error(f"no figure is called {', '.join(unknown)}; choose from {', '.join(figures)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(options.names or figures):
        path = options.out / f"{name}.html"
        write_whole(path, explore.builder(name)(seed=options.seed).to_html().encode())
        print(path)
    return 0
