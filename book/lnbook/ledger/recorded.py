"""What is recorded for each rule, read back from `book/results/`, and what has to be said with it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from lnbook.ledger.rows import read_facts, read_rows
from lnbook.ledger.rules import Rule, digest
from lnbook.ledger.verdicts import YOUNGER, Measurement

Facts = Mapping[str, Any]


def load_measured(rules: Iterable[Rule], *, folder: Path, scale: str = "book") -> dict[str, Measurement]:
    """The measurements in `<folder>/<scale>/<page>.csv`, by rule."""
    pages = {rule.id: rule.page for rule in rules}
    found: dict[str, Measurement] = {}
    for page in dict.fromkeys(pages.values()):
        with suppress(FileNotFoundError):
            for row in read_rows(page, scale=scale, folder=folder):
                if row["rule"] in pages:
                    value, low, high = (float(row[k]) for k in ("value", "low", "high"))
                    values = tuple(map(float, row["values"].split()))
                    found[row["rule"]] = Measurement(row["rule"], value, low, high, int(row["n"]), values)
    return found


def load_recorded(rules: Sequence[Rule], *, folder: Path) -> tuple[dict[str, Measurement], dict[str, str]]:
    """What `book/results/` holds for each rule, and what has to be said beside the verdicts on estimates.

    A page's number at scale "study", which has more seeds and others, counts if it has an interval.
    """
    study = load_measured(rules, folder=folder, scale="study")
    studied = {id: measurement for id, measurement in study.items() if measurement.n > 1}

    @cache
    def facts_of(place: str) -> Facts:
        scale, name = place.split("/")
        with suppress(FileNotFoundError):
            return read_facts(name, scale=scale, folder=folder)
        return {}

    flags = {}
    for rule in rules:
        place = rule.study or f"{'study' if rule.id in studied else 'book'}/{rule.page}"
        if rule.sampled and (facts := facts_of(place)):
            first = facts.get("first", facts.get("rules", {})).get(rule.id)
            words = YOUNGER if first != digest(rule) else "", changed_checkout(facts)
            flags[rule.id] = "; ".join(filter(None, words))
    found = load_measured(rules, folder=folder) | studied
    return found, {id: words for id, words in flags.items() if words}


def first_sight(facts: Facts, before: Facts | None) -> dict[str, str]:
    """By id, the digest that each rule had when a page's seeds were first seen.

    `facts` are of the run that is to be recorded, `before` of the record: new seeds see the rules of now.
    """
    now: dict[str, str] = dict(facts["rules"])
    if before is None or before.get("seed") != facts.get("seed"):
        return now
    return {id: before.get("first", {}).get(id, digest) for id, digest in now.items()}


def changed_checkout(facts: Facts) -> str:
    """Of how many runs files differed from the commit that they name, which then ends in "+"; "" of none."""
    words = "recorded from a changed checkout"
    if facts.get("commit", "").endswith("+"):
        return words
    runs = facts.get("runs", [])
    changed = sum(run.get("commit", "").endswith("+") for run in runs)
    return f"{changed} of {len(runs)} runs {words}" if changed else ""
