"""The record that pages show is computed once for all of them, and again after a change."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import record  # noqa: E402


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of a record, whose report says how often it was computed."""
    (tmp_path / "results" / "book").mkdir(parents=True)
    for name in ("claims.toml", "results/book/page.csv"):
        (tmp_path / name).write_text("rule,value\n", encoding="utf-8")
    computed: list[Path] = []
    monkeypatch.setattr(record, "BOOK", tmp_path)
    monkeypatch.setattr(record, "report", lambda place: computed.append(place) or len(computed))
    record._report.cache_clear()
    yield tmp_path
    record._report.cache_clear()


def test_all_pages_of_a_build_share_one_report(book: Path) -> None:
    assert [record.record() for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("name", ["claims.toml", "results/book/page.csv", "results/book/new.csv"])
def test_a_file_that_changes_or_is_new_makes_another_report(book: Path, name: str) -> None:
    assert record.record() == 1
    (book / name).write_text("rule,value\nx,1\n", encoding="utf-8")
    assert record.record() == 2


def test_a_file_of_the_same_length_is_told_by_its_time(book: Path) -> None:
    assert record.record() == 1
    path = book / "claims.toml"
    path.write_text(path.read_text(encoding="utf-8").swapcase(), encoding="utf-8")
    os.utime(path, ns=(1, 1))  # however coarse the file system's clock
    assert record.record() == 2


def test_a_page_depends_on_every_file_of_the_record(book: Path) -> None:
    names = {file.relative_to(book).as_posix() for file in record.files()}
    assert names == {"claims.toml", "results/book/page.csv"}
