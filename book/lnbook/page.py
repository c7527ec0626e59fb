"""What a notebook needs of the book: it measures for its rules, and names numbers for its text.

A page's own run shows the quantity and judges nothing but mathematics. The verdict on an estimate is that of
the recorded rows under `book/results/`, which `python -m lnbook claims --record` writes and which are
committed.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from lnbook import data
from lnbook.figures import plots
from lnbook.ledger.provenance import provenance
from lnbook.ledger.recorded import load_recorded
from lnbook.ledger.rows import book_dir, read_rows, write_rows
from lnbook.ledger.rules import Rule, digest, load_rules
from lnbook.ledger.tables import Table, number, rules_table
from lnbook.ledger.verdicts import Measurement, judge, measured, meets

__all__ = ["Page", "Shown", "Table", "data", "plots", "read_rows"]


class Shown:
    """A measurement of this run as a page prints it: the number; of what needs no seeds also the verdict."""

    def __init__(self, rule: Rule, found: Measurement) -> None:
        self.rule, self.found = rule, found

    def __repr__(self) -> str:
        here = f"{self.rule.id}: {number(self.rule, self.found)}"
        return here if self.rule.sampled else f"{here} -> {judge(self.rule, self.found)}"


class Page:
    """A page while it runs: `check` each of its rules, `put` numbers into its text, then `show` its table."""

    def __init__(self, page: str, *, scale: str, seed: int = 0, rules: Iterable[Rule] | None = None) -> None:
        known = load_rules() if rules is None else rules
        self.page, self.scale, self.seed = page, scale, seed
        self.rules = {rule.id: rule for rule in known if rule.page == page}
        self.found: dict[str, Measurement] = {}
        self._started = time.perf_counter()

    def measure(
        self,
        rule: str,
        value: float | None = None,
        *,
        low: float | None = None,
        high: float | None = None,
        n: int = 1,
        values: Sequence[float] = (),
    ) -> Shown:
        """Keep the quantity that a rule names: value and 95 % interval over n, or the `values` one by one."""
        if rule not in self.rules:
            raise ValueError(
                f"{rule!r} is not a rule of page {self.page!r}; the ledger has {sorted(self.rules)} "
                "(add it to book/claims.toml)"
            )
        if value is None:
            self.found[rule] = measured(self.rules[rule], values)
        else:
            low, high = (value if x is None else x for x in (low, high))
            self.found[rule] = Measurement(rule, float(value), float(low), float(high), n)
        return Shown(self.rules[rule], self.found[rule])

    def check(self, rule: str, value: float | None = None, **found: Any) -> None:
        """`measure` a rule and print it, which the built page shows as a card."""
        print(self.measure(rule, value, **found))

    @staticmethod
    def put(**values: object) -> None:
        """Name numbers, or words, that the text shows by the role ``{glue:text}`name` ``."""
        from myst_nb import glue

        for name, value in values.items():
            glue(name, value.item() if hasattr(value, "item") else value, display=False)

    def show(self) -> Table:
        """Keep the rows and return the page's table, with the verdicts of the record.

        A rule on a `study` need not be measured, since it is there before its runs.
        """
        needed = {rule.id for rule in self.rules.values() if not rule.study}
        if missing := sorted(needed - set(self.found)):
            raise ValueError(f"page {self.page!r} did not measure its rules {missing}; measure each")
        exact = [rule for rule in self.rules.values() if rule.exact]
        if failed := [Shown(r, self.found[r.id]) for r in exact if not meets(r, self.found[r.id].value)]:
            raise ValueError(f"mathematics holds at every scale, this does not: {failed}; correct the page")
        facts = provenance(scale=self.scale, seed=self.seed, seconds=time.perf_counter() - self._started)
        facts["rules"] = {rule.id: digest(rule) for rule in self.rules.values()}
        rows = [asdict(m) | {"values": " ".join(map(repr, m.values))} for m in self.found.values()]
        write_rows(self.page, rows, facts, scale=self.scale)
        return self._table()

    def _table(self) -> Table:
        """The page's rules: estimates as recorded in `book/results/`, the rest as measured here, just now."""
        rules, place = list(self.rules.values()), book_dir()
        found = {rule.id: self.found[rule.id] for rule in rules if not rule.sampled and rule.id in self.found}
        if place is None:
            return rules_table(rules, found)
        recorded, flags = load_recorded([rule for rule in rules if rule.sampled], folder=place / "results")
        return rules_table(rules, found | recorded, flags)
