"""Where measured rows live: written by a run, read by pages, committed under `book/results/`."""

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lnbook.ledger.files import write_whole

__all__ = [
    "SCALES",
    "as_csv",
    "as_json",
    "book_dir",
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


def write_rows(name: str, rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], *, scale: str) -> Path:
    """Write `<name>.csv` (the rows) and `<name>.json` (how they came about); returns the CSV's path."""
    folder = results_dir(scale)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    write_csv(path, rows)
    write_whole(path.with_suffix(".json"), as_json(facts))
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with equal keys as CSV; numbers, also those in tensors, keep all their digits.

    Raises ValueError, and writes nothing, for no rows or for rows whose keys differ.
    """
    if not rows:
        raise ValueError(f"no rows for {path.stem!r}: a result without rows says nothing")
    keys = list(rows[0])
    for row in rows:
        if row.keys() != rows[0].keys():
            raise ValueError(f"rows of {path.stem!r} have keys {keys} and {list(row)}; make them equal")
    plain = [{key: v.item() if hasattr(v, "item") else v for key, v in row.items()} for row in rows]
    write_whole(path, as_csv(plain))


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


def as_json(facts: Mapping[str, Any]) -> bytes:
    """Facts as JSON, a line each, in the order of the alphabet."""
    return (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode()


def read_rows(name: str, *, scale: str, folder: Path | None = None) -> list[dict[str, str]]:
    """Read the rows of a stored result: of `folder`, else of this checkout's last run, else as committed.

    Raises FileNotFoundError naming the command that makes them.
    """
    book = book_dir()
    places = (
        [folder / scale] if folder else [results_dir(scale), *([book / "results" / scale] if book else [])]
    )
    for place in places:
        if (place / f"{name}.csv").is_file():
            with (place / f"{name}.csv").open(newline="", encoding="utf-8") as file:
                return list(csv.DictReader(file))
    raise FileNotFoundError(f"no rows {name}.csv at scale {scale!r}; `make book SCALE={scale}` makes them")
