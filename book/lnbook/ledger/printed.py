"""The paper's tables of results as printed, with what others measured beside them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnbook.ledger.rows import book_dir

__all__ = ["PrintedTable", "printed_table"]


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper.

    Args:
        id: "table-2".
        says: what it lists, in our words.
        columns: names of the numbers, in the order of the print.
        rows: by who reports them, then by the name of the model: {"the paper": {"OE": {"R@1": 37.8}}}. A
            number that is not given is left out.
    """

    id: str
    says: str
    columns: tuple[str, ...]
    rows: dict[str, dict[str, dict[str, float]]]


def printed_table(id: str, *, path: Path | None = None) -> PrintedTable:
    """A table of `book/claims.toml`, the only place where a number of the paper is typed.

    Args:
        id: "table-2", "figure-2", "table-3" or "figure-5".
        path: of another such file; default: the checkout's, else the copy installed with the package.

    Raises:
        ValueError: no such table; rows of another length than the columns.

    >>> printed_table("table-3").rows["the paper"]["LN, 1.7M"]["MR"]
    79.4
    """
    place = path or (book_dir() or Path(__file__).parents[1]) / "claims.toml"
    tables: list[dict[str, Any]] = tomllib.loads(place.read_text(encoding="utf-8")).get("table", [])
    found = next((table for table in tables if table.get("id") == id), None)
    if found is None:
        raise ValueError(f"{place.name} has no table {id!r}; it has {[t.get('id') for t in tables]}.")
    columns = tuple(found["columns"])
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for by, model, *numbers in found["rows"]:
        if len(numbers) != len(columns):
            raise ValueError(
                f"Table {id!r}, row {by!r}, {model!r}: {len(numbers)} numbers for {len(columns)} columns; "
                f'write "" for one that is not given.'
            )
        given = {name: float(x) for name, x in zip(columns, numbers, strict=True) if x != ""}
        rows.setdefault(by, {})[model] = given
    return PrintedTable(id, found["says"], columns, rows)
