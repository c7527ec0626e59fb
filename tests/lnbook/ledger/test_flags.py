"""Rules before data: a rule that is younger than its data says so wherever its verdict shows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_rules import FIELDS, SENTENCE, rule, write

from lnbook.cli.claims import record
from lnbook.ledger.recorded import changed_checkout, first_sight, load_recorded
from lnbook.ledger.report import report
from lnbook.ledger.rows import write_rows
from lnbook.ledger.rules import digest, load_rules
from lnbook.ledger.verdicts import YOUNGER
from lnbook.page import Page

ESTIMATE = FIELDS | {"sentence": '"p"', "kind": '"effect"', "size": '"paper"', "effect_from": '"ours"'}
ESTIMATE |= {"scale": '"difference"', "expect": '"> 0"', "effect": "1"}


@pytest.fixture
def flagged(tmp_path: Path, monkeypatch) -> Callable[..., bool]:
    """Write the rule, run its page with a seed and record it; whether the verdict is then marked."""
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path / "run"))
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "a1b2")  # whoever tests edits, too
    book = tmp_path / "book"
    book.mkdir()

    def after(seed: int | None, **changed: str) -> bool:
        rules = load_rules(write(book / "claims.toml", ESTIMATE | changed, sentences=[SENTENCE]))
        if seed is not None:
            page = Page("page", scale="book", seed=seed, rules=rules)
            page.measure("a", values=[2.0, 2.1, 1.9, 2.0, 2.2])
            page.show()
            record(rules, "book", book / "results" / "book")
        known = report(book)
        assert ("p" in known.younger) == ("a" in known.younger) == (known.tally().rows[0][1] == "1 (1 †)")
        return "p" in known.younger

    return after


def test_a_rule_that_changes_after_its_data_is_marked_until_new_seeds_run(flagged):
    assert not flagged(seed=0)
    assert flagged(None, effect="0.5")
    assert flagged(0, effect="0.5"), "the same seeds run again have been seen"
    assert not flagged(1000, effect="0.5")


def test_a_rule_on_an_experiments_rows_is_as_old_as_their_facts_say(tmp_path):
    on_runs = rule(study="study/some")
    for known, said in ({on_runs.id: digest(on_runs)}, {}), ({}, {on_runs.id: YOUNGER}):
        write_rows("some", [{"x": 1}], {"rules": known}, scale="study", folder=tmp_path)
        assert load_recorded([on_runs], folder=tmp_path)[1] == said
    assert changed_checkout({"commit": "a1b2+"}) == "recorded from a changed checkout"


def test_of_a_new_rule_the_first_sight_is_its_own():
    before = {"seed": 0, "first": {"a": "old"}}
    assert first_sight({"seed": 0, "rules": {"a": "new", "b": "b1"}}, before) == {"a": "old", "b": "b1"}
    assert first_sight({"seed": 1, "rules": {"a": "new"}}, before) == {"a": "new"}
    assert first_sight({"seed": 0, "rules": {"a": "new"}}, None) == {"a": "new"}
