"""Rules before data: registered with their dates; a rule that changed after its data says so, everywhere."""

import json
from pathlib import Path

import pytest
from ledger_rules import FIELDS, SENTENCE, rule, write

from lnbook.ledger.flags import flags
from lnbook.ledger.history import register, unregistered
from lnbook.ledger.pairs import read_pair, write_pair
from lnbook.ledger.report import page_table, report
from lnbook.ledger.results import Ledger
from lnbook.ledger.rows import write_rows
from lnbook.ledger.rules import load_rules

ESTIMATE = FIELDS | {
    "sentence": '"p"',
    "kind": '"effect"',
    "size": '"paper"',
    "scale": '"difference"',
    "expect": '"> 0"',
    "effect": "1",
    "effect_from": '"ours"',
}


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book with one sentence and one rule, registered, and rows recorded under it."""
    place = tmp_path / "book"
    place.mkdir()
    write(place / "claims.toml", ESTIMATE, sentences=[SENTENCE])
    rules = load_rules(place / "claims.toml")
    register(rules, place / "rules.json", "2026-01-01")
    monkeypatch.setenv("LNLIB_RESULTS", str(place / "results"))
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "a1b2")  # whoever tests edits, too
    page = Ledger("page", scale="book", rules=rules)
    page.measure("a", 2.0, low=1.0, high=3.0, n=9)
    page.show()
    return place


def test_a_rule_that_is_older_than_its_data_has_no_flag(book: Path) -> None:
    known = report(book)
    assert known.flags == {}
    assert known.by_id["p"].verdict.word == "supported"


@pytest.mark.parametrize("change", [{"expect": '"> 0.5"'}, {"effect": "1.5"}, {"quantity": '"another"'}])
def test_a_rule_that_changes_after_the_data_says_so_until_they_are_recorded_anew(book: Path, change) -> None:
    write(book / "claims.toml", ESTIMATE | change, sentences=[SENTENCE])
    rules = load_rules(book / "claims.toml")
    assert unregistered(rules, book / "rules.json") == ["a"]
    assert register(rules, book / "rules.json", "2026-02-02") == ["a"]
    assert [entry["date"] for entry in json.loads((book / "rules.json").read_text())["a"]] == [
        "2026-01-01",
        "2026-02-02",
    ]
    said = {"a": "rule changed after the data, 2026-02-02"}
    assert report(book).flags == said
    assert page_table(rules, {}, book).rows[0][3].endswith(said["a"])
    page = Ledger("page", scale="book", rules=rules)
    page.measure("a", 2.0, low=1.0, high=3.0, n=9)
    page.show()
    assert report(book).flags == {}


def test_other_words_for_the_statement_change_no_rule(book: Path) -> None:
    write(book / "claims.toml", ESTIMATE | {"says": '"in other words"'}, sentences=[SENTENCE])
    assert report(book).flags == {}
    assert register(load_rules(book / "claims.toml"), book / "rules.json", "2026-02-02") == []


def test_a_pages_study_decides_instead_of_its_run_at_book_scale_for_the_rules_that_it_measured(
    book: Path,
) -> None:
    rules = load_rules(book / "claims.toml")
    page = Ledger("page", scale="study", rules=rules)
    page.measure("a", -2.0, low=-3.0, high=-1.0, n=20)
    page.show()
    assert report(book).found["a"].n == 20
    assert report(book).by_id["p"].verdict.word == "contradicted"
    write(book / "claims.toml", ESTIMATE | {"effect": "1.5"}, sentences=[SENTENCE])
    register(load_rules(book / "claims.toml"), book / "rules.json", "2026-02-02")
    again = Ledger("page", scale="book", rules=load_rules(book / "claims.toml"))
    again.measure("a", 2.0, low=1.0, high=3.0, n=9)
    again.show()
    assert report(book).flags == {"a": "rule changed after the data, 2026-02-02"}, "the study is older"
    write_pair(book / "results" / "study" / "page.csv", b"rule,value,low,high,n,values,reached\n", {})
    assert report(book).flags == {}, "a study that lacks the rule decides nothing for it"


def test_a_rule_of_a_study_is_held_against_the_studys_own_rows(book: Path) -> None:
    """However new the page's analysis is: the data are the study's."""
    of_study = rule(study="paper/runs")
    write_rows("runs", [{"seed": 0}], {}, scale="paper", folder=book / "results")
    assert list(flags([of_study], book / "results", book / "rules.json")) == ["a"]
    assert flags([rule(kind="identity")], book / "results", book / "rules.json") == {}


def test_a_verdict_on_runs_of_code_that_no_commit_has_says_so_wherever_it_stands(book: Path) -> None:
    rules = load_rules(book / "claims.toml")
    place = book / "results" / "book" / "page.csv"
    rows, facts = read_pair(place)
    runs = [{"commit": "a1b2+"}, {"commit": "a1b2"}]
    for changed, words in (
        ({"commit": "a1b2+"}, "recorded from a changed checkout"),
        ({"commit": "a1b2"}, ""),
        ({"commit": "a1b2", "runs": runs}, "1 of 2 runs recorded from a changed checkout"),
    ):
        write_pair(place, rows, facts | changed)
        assert report(book).flags == ({"a": words} if words else {})
        assert page_table(rules, {}, book).rows[0][3].endswith(words)
