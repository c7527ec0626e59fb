"""The command that prints the ledger, records rows and refreshes the README."""

from pathlib import Path

import pytest
from ledger_rules import FIELDS, SENTENCE, write

from lnbook.__main__ import main
from lnbook.cli.claims import readme_results
from lnbook.ledger.rules import load_rules
from lnbook.page import Page


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch) -> Path:
    """A checkout with a sentence and a rule for it, nothing measured, and a README with the marks."""
    book = tmp_path / "checkout" / "book"
    book.mkdir(parents=True)
    computed = FIELDS | {"sentence": '"p"', "kind": '"computed"'}
    write(book / "claims.toml", computed, sentences=[SENTENCE])
    (book.parent / "README.md").write_text(
        "before <!-- claims -->old<!-- /claims --> after", encoding="utf-8"
    )
    monkeypatch.setattr("lnbook.ledger.rules.claims_file", lambda: book / "claims.toml")
    for module in ("ledger.rows", "ledger.report", "page", "cli.claims"):
        monkeypatch.setattr(f"lnbook.{module}.book_dir", lambda: book)
    return book.parent


def test_rows_are_recorded_and_what_is_decided_against_the_paper_stands_in_the_readme(checkout, capsys):
    page = Page("page", scale="book", rules=load_rules())
    page.measure("a", 1.0)
    page.show()
    assert main(["claims", "--record", "--readme"]) == 0
    assert sorted(f.name for f in (checkout / "book/results/book").iterdir()) == ["page.csv", "page.json"]
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert text == f"before <!-- claims -->{readme_results(checkout / 'book')}<!-- /claims --> after"
    assert "| contradicted | 1 |" in text
    assert "| Section 3 | it is small | error: 1 | contradicted |" in text
    shown = capsys.readouterr().out
    assert "| Section 3 | it is small | contradicted |" in shown
    assert "| Eq. (3) | small | 1: error (the rule: ≤ 1e-12) | contradicted |" in shown


def test_what_cannot_be_done_is_status_1_and_said(checkout, monkeypatch, capsys):
    assert main(["claims", "--record"]) == 1
    assert "`make book SCALE=book` makes them" in capsys.readouterr().err
    assert not (checkout / "book" / "results").exists()
    (checkout / "README.md").write_text("<!-- /claims --> <!-- claims -->", encoding="utf-8")
    assert main(["claims", "--readme"]) == 1
    assert "lacks the marks <!-- claims --> and <!-- /claims -->" in capsys.readouterr().err
    monkeypatch.setattr("lnbook.cli.claims.book_dir", lambda: None)
    assert main(["claims"]) == 1
    assert "no checkout here" in capsys.readouterr().err
