"""What is recorded for each rule, read back from `book/results/`, and what has to be said with it."""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from lnbook.ledger.rows import read_facts, read_rows
from lnbook.ledger.rules import Rule, digest
from lnbook.ledger.verdicts import YOUNGER, Measurement

__all__ = ["as_row", "changed_checkout", "first_sight", "flags", "load_measured", "load_recorded"]

Facts: TypeAlias = Mapping[str, Any]


def as_row(found: Measurement) -> dict[str, object]:
    """A measurement as a row of a table; its values one by one, in one cell."""
    return asdict(found) | {"values": " ".join(map(repr, found.values))}


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


def _measurement(row: dict[str, str]) -> Measurement:
    value, low, high = (float(row[k] or math.nan) for k in ("value", "low", "high"))
    values = tuple(float(x) for x in row["values"].split())
    return Measurement(row["rule"], value, low, high, int(row["n"]), values)


def load_recorded(rules: Iterable[Rule], *, folder: Path) -> dict[str, Measurement]:
    """What `book/results/` holds for each rule: a study's number, where its page has been one and it has an
    interval.

    A page at scale "study" has more seeds than at "book", and others.
    """
    known = list(rules)
    return load_measured(known, folder=folder) | _studied(known, folder)


def _studied(rules: Iterable[Rule], folder: Path) -> dict[str, Measurement]:
    found = load_measured(rules, folder=folder, scale="study")
    return {id: measurement for id, measurement in found.items() if measurement.n > 1}


def flags(rules: Iterable[Rule], results: Path) -> dict[str, str]:
    """What the ledger says beside the verdicts on estimates, by rule; none of those without a remark.

    Args:
        rules: any; those of mathematics and computed numbers, which every build checks, need no remark.
        results: the folder of recorded rows.

    Raises ValueError for rows that are not those recorded.
    """
    sampled = [rule for rule in rules if rule.sampled]
    studied, known, said = _studied(sampled, results), dict[str, Facts | None](), {}
    for rule in sampled:
        place = rule.study or f"{'study' if rule.id in studied else 'book'}/{rule.page}"
        if place not in known:
            scale, _, name = place.rpartition("/")
            known[place] = None
            with suppress(FileNotFoundError):
                known[place] = read_facts(name, scale=scale, folder=results)
        if (facts := known[place]) is None:
            continue
        first = facts.get("first", facts.get("rules", {})).get(rule.id)
        words = YOUNGER if first != digest(rule) else "", changed_checkout(facts)
        if any(words):
            said[rule.id] = "; ".join(filter(None, words))
    return said


def first_sight(facts: Facts, before: Facts | None) -> dict[str, str]:
    """The rules under which a page's seeds were first seen: by id, the digest that each had then.

    A rule whose text changes keeps the earlier one, also when the same seeds run again; new seeds see the
    rules as they are now.

    Args:
        facts: of the run that is to be recorded.
        before: of the record, None if there is none.
    """
    now: dict[str, str] = dict(facts["rules"])
    if before is None or before.get("seed") != facts.get("seed"):
        return now
    return {id: before.get("first", {}).get(id, digest) for id, digest in now.items()}


def changed_checkout(facts: Facts) -> str:
    """Of how many runs files differed from the commit that they name, which then ends in "+"; "" of none.

    >>> changed_checkout({"commit": "a1b2"}), changed_checkout({"commit": "a1b2+"})
    ('', 'recorded from a changed checkout')
    >>> changed_checkout({"runs": [{"commit": "a1b2"}, {"commit": "a1b2+"}]})
    '1 of 2 runs recorded from a changed checkout'
    """
    words = "recorded from a changed checkout"
    if str(facts.get("commit", "")).endswith("+"):
        return words
    runs = facts.get("runs", [])
    changed = sum(str(run.get("commit", "")).endswith("+") for run in runs)
    return f"{changed} of {len(runs)} runs {words}" if changed else ""
