"""Where measured rows live: written by a run, read by pages, committed under `book/results/`."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lnbook.ledger.files import write_whole
from lnbook.ledger.pairs import read_pair, write_pair

__all__ = [
    "SCALES",
    "as_csv",
    "book_dir",
    "read_facts",
    "read_rows",
    "results_dir",
    "write_csv",
    "write_rows",
]

SCALES = ("smoke", "book", "study", "paper")
_PACKAGE = Path(__file__).resolve().parents[1]


def book_dir() -> Path | None:
    """The checkout's `book/` folder, or None where lnbook is installed without one."""
    path = _PACKAGE.parent
    return path if (path / "claims.toml").is_file() else None


def results_dir(scale: str) -> Path:
    """Where this process writes its rows: `$LNLIB_RESULTS/<scale>`, else `_build/results/<scale>`."""
    book = book_dir()
    root = os.environ.get("LNLIB_RESULTS") or (book.parent / "_build" if book else Path("_build")) / "results"
    return Path(root) / scale


def write_rows(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    facts: Mapping[str, Any],
    *,
    scale: str,
    folder: Path | None = None,
) -> Path:
    """Write `<name>.csv` (the rows) and `<name>.json` (how they came about); returns the CSV's path.

    They go to `<folder>/<scale>`, without a folder to `results_dir(scale)`.

    Raises ValueError, and writes nothing, for no rows or for rows whose keys differ.
    """
    place = folder / scale if folder else results_dir(scale)
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}.csv"
    write_pair(path, _alike(name, rows), facts)
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with equal keys as CSV; numbers, also those in tensors, keep all their digits.

    Raises ValueError, and writes nothing, for no rows or for rows whose keys differ.
    """
    write_whole(path, _alike(path.stem, rows))


def _alike(name: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows with equal keys as CSV."""
    if not rows:
        raise ValueError(f"no rows for {name!r}: a result without rows says nothing")
    keys = list(rows[0])
    for row in rows:
        if row.keys() != rows[0].keys():
            raise ValueError(f"rows of {name!r} have keys {keys} and {list(row)}; make them equal")
    return as_csv([{key: v.item() if hasattr(v, "item") else v for key, v in row.items()} for row in rows])


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as CSV, columns in the order in which keys appear; what a row lacks, and None, is empty.

    >>> as_csv([{"norm": "layer", "nll": 0.5}, {"norm": "none", "update": 3}])
    b'norm,nll,update\\nlayer,0.5,\\nnone,,3\\n'
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(
        text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def read_rows(name: str, *, scale: str, folder: Path | None = None) -> list[dict[str, str]]:
    """Read the rows of a stored result: of `folder`, else of this checkout's last run, else as committed.

    Raises:
        FileNotFoundError: there are none; names the command that makes them.
        ValueError: they are not those that were recorded, see `lnbook.ledger.pairs`.
    """
    rows, _ = read_pair(_place(name, scale, folder))
    return list(csv.DictReader(io.StringIO(rows.decode(), newline="")))


def read_facts(name: str, *, scale: str, folder: Path | None = None) -> dict[str, Any]:
    """How the rows that `read_rows` reads came about; raises as it does."""
    return read_pair(_place(name, scale, folder))[1]


def _place(name: str, scale: str, folder: Path | None) -> Path:
    book = book_dir()
    places = (
        [folder / scale] if folder else [results_dir(scale), *([book / "results" / scale] if book else [])]
    )
    for place in places:
        if (place / f"{name}.csv").is_file():
            return place / f"{name}.csv"
    raise FileNotFoundError(f"no rows {name}.csv at scale {scale!r}; `make book SCALE={scale}` makes them")
