"""What has to be said with a verdict: a rule that is younger than its data, a checkout that was changed."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lnbook.ledger.rules import Rule, digest
from lnbook.ledger.stored import Facts, recorded_facts

__all__ = ["MARK", "YOUNGER", "changed_checkout", "first_sight", "flags"]

MARK = "†"  # beside every verdict whose rule is younger than its data
YOUNGER = "rule younger than its data"


def flags(rules: Iterable[Rule], results: Path) -> dict[str, str]:
    """What the ledger says beside the verdicts on estimates, by rule; none of those without a remark.

    Args:
        rules: any; those of mathematics and computed numbers, which every build checks, need no remark.
        results: the folder of recorded rows.

    Raises ValueError for rows that are not those recorded.
    """
    said: dict[str, str] = {}
    known: dict[str, Facts | None] = {}
    for rule in rules:
        facts = recorded_facts(rule, results, known) if rule.sampled else None
        if facts is None:
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


def changed_checkout(facts: Mapping[str, Any]) -> str:
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
