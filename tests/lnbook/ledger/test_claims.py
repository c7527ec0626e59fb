"""The command that prints the ledger, records rows and refreshes the README."""

from pathlib import Path

import pytest
from test_results import FIELDS, write

from lnbook.__main__ import main
from lnbook.cli.claims import readme_table, replace_between_marks
from lnbook.ledger.results import Ledger, load_claims


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one claim, nothing measured, and a README with the marks."""
    book = tmp_path / "checkout" / "book"
    book.mkdir(parents=True)
    write(book / "claims.toml", FIELDS)
    (book.parent / "README.md").write_text(
        "before <!-- claims -->old<!-- /claims --> after", encoding="utf-8"
    )
    monkeypatch.setattr("lnbook.ledger.results.book_dir", lambda: book)
    monkeypatch.setattr("lnbook.ledger.rows.book_dir", lambda: book)
    monkeypatch.setattr("lnbook.cli.claims.book_dir", lambda: book)
    return book.parent


@pytest.mark.parametrize("text", ["no marks", "<!-- x --> open", "<!-- /x --> <!-- x -->"])
def test_text_without_both_marks_in_order_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="lacks the marks <!-- x --> and <!-- /x -->"):
        replace_between_marks(text, "x", "new")


def test_the_command_prints_every_claim(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims"]) == 0
    out, err = capsys.readouterr()
    assert "| Eq. (3) | small | - | not attempted |" in out
    assert err == ""


def test_rows_are_recorded_and_shown_in_the_readme(checkout: Path) -> None:
    page = Ledger("page", scale="book", claims=load_claims(checkout / "book" / "claims.toml"))
    page.measure("a", 1e-16)
    page.show()
    assert main(["claims", "--record", "--readme"]) == 0
    assert sorted(f.name for f in (checkout / "book/results/book").iterdir()) == ["page.csv", "page.json"]
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert text == f"before <!-- claims -->{readme_table(checkout / 'book/results')}<!-- /claims --> after"
    assert "| holds | 1 |" in text
    assert "Eq. (3)" not in text, "the README counts; the statements are in the book"


def test_what_does_not_hold_is_counted_in_the_readme_and_printed_in_full(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Ledger("page", scale="book", claims=load_claims(checkout / "book" / "claims.toml"))
    page.measure("a", 1.0)
    page.show()
    assert main(["claims", "--record", "--readme"]) == 0
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert "| not reproduced | 1 |" in text
    assert "| holds |" not in text
    assert "| error: 1 (needs ≤ 1e-12) | not reproduced |" in capsys.readouterr().out


def test_nothing_to_record_is_status_1(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--record"]) == 1
    assert "`make book SCALE=book` makes them" in capsys.readouterr().err
    assert not (checkout / "book" / "results").exists()


def test_a_readme_without_marks_or_a_malformed_ledger_is_status_1(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "README.md").write_text("no marks", encoding="utf-8")
    assert main(["claims", "--readme"]) == 1
    assert "lacks the marks" in capsys.readouterr().err
    write(checkout / "book" / "claims.toml", FIELDS | {"expect": '"small"'})
    assert main(["claims"]) == 1
    assert "claim 'a' expects 'small'" in capsys.readouterr().err


def test_without_a_checkout_nothing_of_it_can_be_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lnbook.cli.claims.book_dir", lambda: None)
    assert main(["claims", "--readme"]) == 1
    assert "no checkout here" in capsys.readouterr().err
