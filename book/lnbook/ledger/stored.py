"""Measurements as rows: how they are written, and read back from a run or from `book/results/`."""

import math
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

from lnbook.ledger.rows import read_facts, read_rows
from lnbook.ledger.rules import Rule
from lnbook.ledger.verdicts import Measurement

__all__ = ["Facts", "as_row", "load_measured", "load_recorded", "recorded_facts"]

Facts: TypeAlias = Mapping[str, Any]


def load_measured(rules: Iterable[Rule], *, folder: Path, scale: str = "book") -> dict[str, Measurement]:
    """The measurements in `<folder>/<scale>/<page>.csv`, by rule."""
    known = {rule.id: rule for rule in rules}
    found: dict[str, Measurement] = {}
    for page in dict.fromkeys(rule.page for rule in known.values()):
        try:
            rows = read_rows(page, scale=scale, folder=folder)
        except FileNotFoundError:
            continue
        found |= {row["rule"]: _measurement(row) for row in rows if row["rule"] in known}
    return found


def load_recorded(rules: Iterable[Rule], *, folder: Path) -> dict[str, Measurement]:
    """What `book/results/` holds for each rule: a study's number, where its page has been one and it has an
    interval.

    A page at scale "study" has more seeds than at "book", and others.
    """
    known = list(rules)
    studied = load_measured(known, folder=folder, scale="study")
    return load_measured(known, folder=folder) | {id: m for id, m in studied.items() if m.n > 1}


def recorded_facts(rule: Rule, folder: Path, known: MutableMapping[str, Facts | None]) -> Facts | None:
    """How the rule's recorded data came about: an experiment's, or its page's run; None if it has none.

    Args:
        rule: a rule.
        folder: of the recorded rows.
        known: what was read for earlier rules, by place; gets what is read for this one.

    Raises ValueError for rows that are not those recorded.
    """
    studied = load_measured([rule], folder=folder, scale="study").get(rule.id)
    place = rule.study or f"{'study' if studied and studied.n > 1 else 'book'}/{rule.page}"
    if place not in known:
        scale, _, name = place.rpartition("/")
        try:
            known[place] = read_facts(name, scale=scale, folder=folder)
        except FileNotFoundError:
            known[place] = None
    return known[place]


def as_row(found: Measurement) -> dict[str, object]:
    """A measurement as a row of a table; its values one by one, in one cell."""
    return {
        "rule": found.rule,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "values": " ".join(map(repr, found.values)),
    }


def _measurement(row: dict[str, str]) -> Measurement:
    value, low, high = (float(row[k] or math.nan) for k in ("value", "low", "high"))
    values = tuple(float(x) for x in row["values"].split())
    return Measurement(row["rule"], value, low, high, int(row["n"]), values)
