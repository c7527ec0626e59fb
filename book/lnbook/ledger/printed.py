"""The paper's tables of results as printed, with what others measured beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnbook.ledger.rules import claims_file, parsed

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
        path: of another such file.

    Raises ValueError for rows of another length than the columns.

    >>> printed_table("table-3").rows["the paper"]["LN, 1.7M"]["MR"]
    79.4
    """
    tables = {table["id"]: table for table in parsed(path or claims_file())["table"]}
    found: dict[str, Any] = tables[id]
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for by, model, *numbers in found["rows"]:
        given = zip(found["columns"], numbers, strict=True)
        rows.setdefault(by, {})[model] = {name: float(x) for name, x in given if x != ""}
    return PrintedTable(id, found["says"], tuple(found["columns"]), rows)
