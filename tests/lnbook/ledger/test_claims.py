"""The command that prints the ledger, records rows and refreshes the README."""

from pathlib import Path

import pytest
from ledger_rules import FIELDS, SENTENCE, write

from lnbook.__main__ import main
from lnbook.cli.claims import readme_results, replace_between_marks
from lnbook.ledger.results import Ledger
from lnbook.ledger.rules import load_rules


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a sentence and a rule for it, nothing measured, and a README with the marks."""
    book = tmp_path / "checkout" / "book"
    book.mkdir(parents=True)
    write(book / "claims.toml", FIELDS | {"sentence": '"p"'}, sentences=[SENTENCE])
    (book.parent / "README.md").write_text(
        "before <!-- claims -->old<!-- /claims --> after", encoding="utf-8"
    )
    monkeypatch.setattr("lnbook.ledger.rules.claims_file", lambda: book / "claims.toml")
    for module in ("ledger.rows", "ledger.report", "ledger.results", "cli.claims"):
        monkeypatch.setattr(f"lnbook.{module}.book_dir", lambda: book)
    return book.parent


def measure(checkout: Path, value: float) -> None:
    page = Ledger("page", scale="book", rules=load_rules(checkout / "book" / "claims.toml"))
    page.measure("a", value)
    page.show()


@pytest.mark.parametrize("text", ["no marks", "<!-- x --> open", "<!-- /x --> <!-- x -->"])
def test_text_without_both_marks_in_order_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="lacks the marks <!-- x --> and <!-- /x -->"):
        replace_between_marks(text, "x", "new")


def test_the_command_prints_every_sentence_and_every_rule(checkout: Path, capsys) -> None:
    assert main(["claims"]) == 0
    out, err = capsys.readouterr()
    assert "| Section 3 | it is small | not measured (not run) |" in out
    assert "| Eq. (3) | small | - | not measured (not run) |" in out
    assert err == ""


def test_rows_are_recorded_and_counted_in_the_readme(checkout: Path) -> None:
    measure(checkout, 1e-16)
    assert main(["claims", "--record", "--readme"]) == 0
    assert sorted(f.name for f in (checkout / "book/results/book").iterdir()) == ["page.csv", "page.json"]
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert text == f"before <!-- claims -->{readme_results(checkout / 'book')}<!-- /claims --> after"
    assert "| verified | 1 |" in text
    assert "Section 3" not in text, "the README counts what stands; the sentences are in the book"


def test_what_is_decided_against_the_paper_stands_in_the_readme(checkout: Path) -> None:
    write(
        checkout / "book" / "claims.toml",
        FIELDS | {"sentence": '"p"', "kind": '"computed"'},
        sentences=[SENTENCE],
    )
    measure(checkout, 1.0)
    assert main(["claims", "--record", "--readme"]) == 0
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert "| contradicted | 1 |" in text
    assert "| Section 3 | it is small | error: 1 | contradicted |" in text


def test_what_cannot_be_done_is_status_1_and_said(checkout: Path, capsys) -> None:
    assert main(["claims", "--record"]) == 1
    assert "`make book SCALE=book` makes them" in capsys.readouterr().err
    assert not (checkout / "book" / "results").exists()
    write(checkout / "book" / "claims.toml", FIELDS | {"expect": '"small"'})
    assert main(["claims"]) == 1
    assert "rule 'a' expects 'small'" in capsys.readouterr().err


def test_without_a_checkout_there_is_no_record_to_show(monkeypatch, capsys) -> None:
    monkeypatch.setattr("lnbook.cli.claims.book_dir", lambda: None)
    assert main(["claims", "--readme"]) == 1
    assert "no checkout here" in capsys.readouterr().err
