"""Rows and how they came about: two files that belong together, by the SHA-256 of the one in the other."""

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lnbook.ledger.files import write_whole

__all__ = ["DIGEST", "as_json", "read_pair", "write_pair"]

DIGEST = "rows_sha256"  # the fact that says which rows the other facts are of
_TRIES = 20
_PAUSE_S = 0.05  # between two tries of a reader: another process may just be writing both files


def write_pair(path: Path, rows: bytes, facts: Mapping[str, Any]) -> None:
    """Write rows as `<name>.csv` and, as `<name>.json`, how they came about with the rows' SHA-256.

    Of several processes that write the same pair at once the last one leaves both of its files.

    Args:
        path: of the CSV.
        rows: its bytes.
        facts: what the JSON says besides.

    Raises OSError; each of the two files is then as it was, or whole.
    """
    told = as_json({**facts, DIGEST: _sha256(rows)})
    for _ in range(_TRIES):
        write_whole(path, rows)
        write_whole(path.with_suffix(".json"), told)
        if _fault(path.read_bytes(), json.loads(path.with_suffix(".json").read_bytes())) == "":
            return  # else another process wrote in between, and may have been the last at one file only
    raise OSError(f"{path} and its JSON are written by others all the time; record one run after the other")


def read_pair(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The rows of a CSV, as bytes, and the facts written with them, known to belong together.

    Raises:
        ValueError: rows that are not those of their JSON, or that have none.
        FileNotFoundError: no CSV.
    """
    place, fault = path.with_suffix(".json"), ""
    for attempt in range(_TRIES):
        time.sleep(_PAUSE_S if attempt else 0)
        rows = path.read_bytes()
        try:
            facts = json.loads(place.read_bytes())
        except (FileNotFoundError, ValueError) as error:
            fault = f"how its rows came about cannot be read from {place.name} ({error})"
            break
        if not (fault := _fault(rows, facts)):
            return rows, {key: value for key, value in facts.items() if key != DIGEST}
    raise ValueError(
        f"{path}: {fault}. Nothing is read from it. Take both files from the repository again "
        f"(git checkout), or make them anew: rows are recorded by commands, never by hand."
    )


def as_json(facts: Mapping[str, Any]) -> bytes:
    """Facts as JSON, a line each, in the order of the alphabet."""
    return (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode()


def _fault(rows: bytes, facts: Any) -> str:
    """Why these rows are not those that the facts are of; "" if they are."""
    told = facts.get(DIGEST) if isinstance(facts, dict) else None
    if told is None:
        return f"its JSON says no {DIGEST}, so nothing shows that the rows are those recorded"
    if told != (found := _sha256(rows)):
        return f"the rows are not those recorded: their SHA-256 is {found}, the JSON says {told}"
    return ""


def _sha256(rows: bytes) -> str:
    return hashlib.sha256(rows).hexdigest()
