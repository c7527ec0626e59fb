"""Where measured rows live: written by a run, read by pages, committed under `book/results/`.

Rows and how they came about are two files that belong together: `<name>.json` holds the SHA-256 of
`<name>.csv`, and rows that are not those of their JSON are never read.
"""

import csv
import hashlib
import io
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SCALES = ("smoke", "book", "study", "paper")
DIGEST = "rows_sha256"  # the fact that says which rows the other facts are of


def write_whole(path: Path, content: bytes) -> None:
    """Write all of it under that name, or nothing: aside, under a name of this call's own, then renamed."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        aside.write_bytes(content)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def write_pair(path: Path, rows: bytes, facts: Mapping[str, Any]) -> None:
    """Write rows as `<name>.csv` and, as `<name>.json`, how they came about with the rows' SHA-256."""
    told = {**facts, DIGEST: hashlib.sha256(rows).hexdigest()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, rows)
    write_whole(path.with_suffix(".json"), (json.dumps(told, indent=1, sort_keys=True) + "\n").encode())


def read_pair(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The rows of a CSV, as bytes, and the facts written with them; raises ValueError for others' facts."""
    rows, place = path.read_bytes(), path.with_suffix(".json")
    facts: dict[str, Any] = json.loads(place.read_bytes())
    told, found = facts.pop(DIGEST, None), hashlib.sha256(rows).hexdigest()
    if told != found:
        raise ValueError(
            f"{path}: the rows are not those recorded: their SHA-256 is {found}, and {place.name} says "
            f"{told}. Take both files from the repository again, or make them again by a command."
        )
    return rows, facts


def book_dir() -> Path | None:
    """The checkout's `book/` folder, or None where lnbook is installed without one."""
    path = Path(__file__).resolve().parents[2]
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
    """Write rows and facts under `<folder>/<scale>`, by default `results_dir(scale)`; the CSV's path."""
    path = (folder / scale if folder else results_dir(scale)) / f"{name}.csv"
    write_pair(path, as_csv(rows), facts)
    return path


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as CSV, columns in the order in which keys appear; what a row lacks, and None, is empty.

    Numbers, also those in tensors, keep all their digits.

    >>> as_csv([{"norm": "layer", "nll": 0.5}, {"norm": "none", "update": 3}])
    b'norm,nll,update\\nlayer,0.5,\\nnone,,3\\n'
    """
    text = io.StringIO(newline="")
    names = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: v.item() if hasattr(v, "item") else v for key, v in row.items()})
    return text.getvalue().encode()


def read_rows(name: str, *, scale: str, folder: Path | None = None) -> list[dict[str, str]]:
    """The rows of a stored result at `place_of`; raises ValueError if they are not those recorded."""
    rows, _ = read_pair(place_of(name, scale=scale, folder=folder))
    return list(csv.DictReader(io.StringIO(rows.decode(), newline="")))


def read_facts(name: str, *, scale: str, folder: Path | None = None) -> dict[str, Any]:
    """How the rows that `read_rows` reads came about; raises as it does."""
    return read_pair(place_of(name, scale=scale, folder=folder))[1]


def place_of(name: str, *, scale: str, folder: Path | None = None) -> Path:
    """The CSV of a stored result: of `folder`, else of this checkout's last run, else as committed."""
    places = [folder / scale] if folder else [results_dir(scale)]
    if folder is None and (book := book_dir()):
        places.append(book / "results" / scale)
    for place in places:
        if (place / f"{name}.csv").is_file():
            return place / f"{name}.csv"
    raise FileNotFoundError(f"no rows {name}.csv at scale {scale!r}; `make book SCALE={scale}` makes them")
