"""The paper's tables of results as printed, with what others measured beside them."""

from typing import NamedTuple

from lnbook.ledger.rules import claims_file, parsed


class PrintedTable(NamedTuple):
    """The columns in the order of the print, and the numbers by who reports them, model and column."""

    columns: tuple[str, ...]
    rows: dict[str, dict[str, dict[str, float]]]


def printed_table(id: str) -> PrintedTable:
    """A table of `book/claims.toml`, such as "table-2"; a number that is not given is left out.

    >>> printed_table("table-3").rows["the paper"]["LN, 1.7M"]["MR"]
    79.4
    """
    (found,) = (table for table in parsed(claims_file())["table"] if table["id"] == id)
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for by, model, *numbers in found["rows"]:
        given = zip(found["columns"], numbers, strict=True)
        rows.setdefault(by, {})[model] = {name: float(x) for name, x in given if x != ""}
    return PrintedTable(tuple(found["columns"]), rows)
