"""Rules before data, provably: when each rule was written, and which data were taken under another one.

`book/rules.json` registers every rule's digest with its date, `python -m lnbook claims --register` adds
to it, and recorded rows keep the digests of the rules they were taken under. Where the two differ, the
ledger says so until the rows are recorded anew.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from lnbook.ledger.rules import Rule, digest
from lnbook.ledger.stored import recorded_in

__all__ = ["changed_after_data", "register", "unregistered"]

History = dict[str, list[dict[str, str]]]


def read(path: Path) -> History:
    """The registered rules: by id, each text's date and digest, the first one first."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def unregistered(rules: Iterable[Rule], path: Path) -> list[str]:
    """The rules whose present text is not the last one registered."""
    history = read(path)
    return [r.id for r in rules if not history.get(r.id) or history[r.id][-1]["digest"] != digest(r)]


def register(rules: Iterable[Rule], path: Path, today: str) -> list[str]:
    """Add the rules that are new or have changed, with today's date; returns their names."""
    known = list(rules)
    history, added = read(path), unregistered(known, path)
    for rule in known:
        if rule.id in added:
            history.setdefault(rule.id, []).append({"date": today, "digest": digest(rule)})
    path.write_text(json.dumps(history, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return added


def changed_after_data(rules: Iterable[Rule], results: Path, path: Path) -> dict[str, str]:
    """What the ledger says of estimates that were taken before their rule had its present text, by rule.

    A rule with a `study` is judged by that study's rows, `<results>/<study>.json`; the others by the page's,
    at scale "study" or else "book". Mathematics and computed numbers are checked on every build and need
    none.
    """
    history, taken = read(path), {}
    said: dict[str, str] = {}
    for rule in rules:
        place = recorded_in(rule, results)
        if place not in taken:
            taken[place] = _digests(place)
        under = taken[place]
        if rule.sampled and under is not None and under.get(rule.id) != digest(rule):
            dates = [entry["date"] for entry in history.get(rule.id, [])]
            said[rule.id] = f"rule changed after the data, {dates[-1] if dates else 'not registered'}"
    return said


def _digests(place: Path) -> Mapping[str, str] | None:
    """The rules that recorded rows were taken under, none of older rows; None if there are no such rows."""
    if not place.is_file():
        return None
    return json.loads(place.read_text(encoding="utf-8")).get("rules", {})
