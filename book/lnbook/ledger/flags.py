"""What has to be said with a verdict: of the rule's age, and of the code that its data were taken with."""

from collections.abc import Iterable
from pathlib import Path

from lnbook.ledger.history import changed_after_data, read
from lnbook.ledger.rules import Rule
from lnbook.ledger.stored import Facts, recorded_facts

__all__ = ["changed_checkout", "flags"]


def flags(rules: Iterable[Rule], results: Path, path: Path) -> dict[str, str]:
    """What the ledger says beside the verdicts on estimates, by rule; none of those without a remark.

    Args:
        rules: any; those of mathematics and computed numbers, which every build checks, need no remark.
        results: the folder of recorded rows.
        path: of the registered rules.

    Raises ValueError for rows that are not those recorded.
    """
    history, said = read(path), {}
    known: dict[str, Facts | None] = {}
    for rule in rules:
        if not rule.sampled:
            continue
        facts = recorded_facts(rule, results, known)
        if facts is not None:
            words = changed_after_data(rule, facts, history), changed_checkout(facts)
            if any(words):
                said[rule.id] = "; ".join(filter(None, words))
    return said


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
