"""Rules before data, provably: when each rule was written, and which data were taken under another one.

`book/rules.json` registers every rule's digest with its date, `python -m lnbook claims --register` adds
to it, and recorded rows keep the digests of the rules they were taken under. Where the two differ, the
ledger says so until the rows are recorded anew.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from lnbook.ledger.files import write_whole
from lnbook.ledger.pairs import as_json
from lnbook.ledger.rules import Rule, digest
from lnbook.ledger.stored import Facts

__all__ = ["History", "changed_after_data", "read", "register", "unregistered"]

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
    write_whole(path, as_json(history))
    return added


def changed_after_data(rule: Rule, facts: Facts, history: History) -> str:
    """What the ledger says of a rule that got its present text after its data were taken, else "".

    Args:
        rule: of an estimate; mathematics and computed numbers are checked on every build.
        facts: how its recorded rows came about; `rules` has the digests that they were taken under, if any.
        history: as `read` reads it.
    """
    if facts.get("rules", {}).get(rule.id) == digest(rule):
        return ""
    dates = [entry["date"] for entry in history.get(rule.id, [])]
    return f"rule changed after the data, {dates[-1] if dates else 'not registered'}"
