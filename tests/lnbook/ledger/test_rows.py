"""Stored rows come back as written, from the right place, and half rows are never written."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.ledger.rows import book_dir, read_facts, read_rows, results_dir, write_csv, write_rows


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path))
    return tmp_path


@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_numbers_keep_all_their_digits(tmp_path_factory: pytest.TempPathFactory, values) -> None:
    path = tmp_path_factory.mktemp("rows") / "x.csv"
    for kind in (list, np.array, lambda v: torch.tensor(v, dtype=torch.float64)):
        write_csv(path, [{"value": v} for v in kind(values)])
        back = [float(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(back, values, strict=True))


def test_text_with_commas_quotes_and_lines_comes_back(results: Path) -> None:
    rows = [{"norm": 'layer, "ours"', "note": "two\nlines"}, {"norm": "", "note": "µ"}]
    path = write_rows("x", rows, {"seed": 0}, scale="smoke")
    assert path == results / "smoke" / "x.csv"
    assert read_rows("x", scale="smoke") == rows
    assert read_facts("x", scale="smoke") == {"seed": 0}


@pytest.mark.parametrize("rows", [[{"a": 1}, {"b": 1}], [{"a": 1}, {"a": 1, "b": 2}], [{"a": 1}, {}]])
def test_rows_whose_keys_differ_are_refused_and_leave_no_file(results: Path, rows) -> None:
    with pytest.raises(ValueError, match=r"rows of 'x' have keys \['a'\] and"):
        write_csv(results / "x.csv", rows)
    assert not (results / "x.csv").exists()


def test_no_rows_are_refused(results: Path) -> None:
    with pytest.raises(ValueError, match="no rows for 'x'"):
        write_rows("x", [], {}, scale="smoke")
    assert not list(results.rglob("*.*"))


def test_the_order_of_keys_is_the_first_rows(results: Path) -> None:
    write_csv(results / "x.csv", [{"a": 1, "b": 2}, {"b": 4, "a": 3}])
    assert (results / "x.csv").read_text(encoding="utf-8") == "a,b\n1,2\n3,4\n"


def test_the_last_run_comes_before_what_is_committed_and_a_named_folder_before_both(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = results / "checkout"
    monkeypatch.setattr("lnbook.ledger.rows.book_dir", lambda: book)
    for place in (book / "results", results / "named"):
        write_rows("x", [{"from": place.name}], {"at": place.name}, scale="book", folder=place)
    assert read_rows("x", scale="book") == [{"from": "results"}]
    assert read_facts("x", scale="book") == {"at": "results"}
    write_rows("x", [{"from": "run"}], {}, scale="book")
    assert read_rows("x", scale="book") == [{"from": "run"}]
    assert read_rows("x", scale="book", folder=results / "named") == [{"from": "named"}]


@pytest.mark.usefixtures("results")
def test_a_result_that_nobody_measured_names_the_command_that_does() -> None:
    with pytest.raises(FileNotFoundError, match=r"no rows x\.csv at scale 'smoke'; `make book SCALE=smoke`"):
        read_rows("x", scale="smoke")


def test_this_checkout_has_a_book_and_results_go_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_RESULTS", raising=False)
    book = book_dir()
    assert book == Path(__file__).resolve().parents[3] / "book"
    assert results_dir("smoke") == book.parent / "_build" / "results" / "smoke"
    monkeypatch.setattr("lnbook.ledger.rows.book_dir", lambda: None)
    assert results_dir("smoke") == Path("_build") / "results" / "smoke"
