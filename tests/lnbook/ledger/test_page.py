"""A page: what it accepts, what it prints, which verdict its table shows, the rows it keeps."""

import math
from pathlib import Path

import pytest
from ledger_rules import measurement, rule

from lnbook.ledger.recorded import load_measured
from lnbook.ledger.rules import Rule
from lnbook.ledger.tables import Table, rules_table
from lnbook.ledger.verdicts import YOUNGER, Measurement
from lnbook.page import Page


def ledger(*rules: Rule) -> Page:
    return Page("page", scale="smoke", rules=rules)


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch) -> Path:
    """An empty folder where this process writes its rows, and no record."""
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr("lnbook.page.book_dir", lambda: tmp_path / "book")
    return tmp_path / "results"


def test_what_is_measured_comes_back_from_the_stored_rows(results):
    page = ledger(rule(), rule(id="b"), rule(id="c"), rule(id="d"))
    page.measure("a", 0.1 + 0.2)
    page.measure("b", 2.0, low=1.0, high=3.0, n=5)
    page.measure("c", values=[0.1, 0.2, 0.7, 0.1, 1 / 3])
    page.measure("d", math.nan)
    page.show()
    read = load_measured(page.rules.values(), folder=results, scale="smoke")
    assert {k: v for k, v in read.items() if k != "d"} == {k: v for k, v in page.found.items() if k != "d"}
    assert math.isnan(read["d"].value)


def test_every_rule_of_the_page_but_one_on_runs_must_be_measured_and_no_other():
    page = ledger(rule(), rule(id="b", study="paper/some"), rule(id="elsewhere", page="other"))
    with pytest.raises(ValueError, match=r"did not measure its rules \['a'\]"):
        page.show()
    with pytest.raises(ValueError, match=r"'elsewhere' is not a rule of page 'page'.*\['a', 'b'\]"):
        page.measure("elsewhere", 0.0)
    page.measure("a", 0.0)
    assert page.show().rows[1][3] == "not measured (not run)"


def test_mathematics_that_fails_stops_the_page_and_an_estimate_does_not(results):
    page = ledger(rule("<= 1", kind="identity"), rule(id="b"))
    page.measure("a", math.nan)
    page.measure("b", -2.0)
    with pytest.raises(ValueError, match=r"holds at every scale, this does not: \[a: "):
        page.show()
    assert not results.exists()
    page.measure("a", 0.5)
    page.show()


def test_a_page_prints_its_own_number_and_judges_only_what_needs_no_seeds():
    page = ledger(rule("<= 1", kind="identity"), rule(id="b"))
    assert repr(page.measure("a", 0.5)) == "a: 0.5 -> verified"
    assert repr(page.measure("b", 0.5, low=0.1, high=0.9, n=6)) == "b: 0.5 [0.1, 0.9], 6 seeds"
    assert repr(page.measure("b", 0.5, low=0.1, high=0.9, n=4)) == "b: 0.5, 4 seeds"  # no interval


def test_the_table_of_a_page_has_the_verdicts_of_the_record_not_of_its_own_run(tmp_path, monkeypatch):
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path / "book" / "results"))
    recorder = Page("page", scale="book", rules=[rule(), rule("<= 1", kind="identity", id="b")])
    recorder.measure("a", 2.0, low=1.5, high=2.5, n=20)
    recorder.measure("b", 0.5)
    recorder.show()
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path / "here"))
    page = ledger(*recorder.rules.values())
    page.measure("a", -3.0, low=-4, high=-2, n=5)
    page.measure("b", 0.25)
    first, second = page.show().rows
    assert "2 [1.5, 2.5], 20 seeds" in first[2]
    assert first[3].startswith("supported in a stand-in")
    assert "0.25" in second[2], "mathematics is what this run computed"


def test_a_table_says_what_was_measured_against_which_rule_and_on_what_condition():
    rules = [
        rule("> 0", id="a", condition="for H > 2", unit="%"),
        rule("> 0", id="b", effect=3, effect_from="paper"),
        rule("== 0", id="c", kind="same", margin=0.5, effect=None, effect_from=""),
        rule(id="d"),
    ]
    found = {
        "a": measurement(0.5, 0.4, 0.6),
        "b": Measurement("b", 2, 2, 2),
        "c": measurement(0.0, -0.1, 0.1),
    }
    rows = rules_table(rules, found, {"a": YOUNGER}).rows
    assert [row[2:] for row in rows] == [
        [
            "0.5 % [0.4, 0.6], 8 seeds: error (the rule: > 0; an effect is 1)",
            "supported † in a stand-in (for H > 2; the right side, but what counts here is 1); " + YOUNGER,
        ],
        [
            "2: error (the rule: > 0; the paper has 3)",
            "undecided in a stand-in (a single run; an interval needs 5 or more)",
        ],
        ["0 [-0.1, 0.1], 8 seeds: error (the rule: = 0; within 0.5)", "supported in a stand-in"],
        ["-", "not measured (not run)"],
    ]


def test_a_table_breaks_neither_markdown_nor_html_and_names_its_columns_and_verdicts():
    shown = Table(["a"], [["|x| < 1 & <b>"]])
    assert shown.to_markdown().splitlines()[2] == r"| \|x\| < 1 & <b> |"
    assert '<td data-column="a">|x| &lt; 1 &amp; &lt;b&gt;</td>' in shown._repr_html_()
    assert '<td colspan="2">None.</td>' in Table(["a", "b"], [])._repr_html_()
    verdicts = Table(["Verdict"], [["verified if n > 1"], ["-"]])._repr_html_()
    assert '<span class="verdict verdict-verified-if">verified if</span> n &gt; 1<' in verdicts
    assert verdicts.count("<span") == 1
