"""Rows come back as written and from the right place; a changed value or a missing file is named."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.ledger.rows import (
    DIGEST,
    as_csv,
    as_json,
    book_dir,
    read_facts,
    read_pair,
    read_rows,
    results_dir,
    write_pair,
    write_rows,
    write_whole,
)

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "book" / "results"
ROWS = b"norm,error\nlayer,0.125\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "study").mkdir()
    path = tmp_path / "study" / "x.csv"
    write_pair(path, ROWS, {"commit": "a1b2"})
    return path


@pytest.mark.parametrize("rows", [ROWS.replace(b"0.125", b"0.124"), b""])
def test_rows_that_were_changed_are_refused_with_both_digests(place: Path, rows: bytes) -> None:
    place.write_bytes(rows)
    told = json.loads(place.with_suffix(".json").read_text())[DIGEST]
    for read in (read_rows, read_facts):
        with pytest.raises(ValueError, match=rf"x\.csv: the rows are not those recorded.*{told}"):
            read("x", scale="study", folder=place.parents[1])


@pytest.mark.parametrize("told", [b"{", b"{}", None])
def test_rows_without_a_record_of_how_they_came_about_are_refused(place: Path, told: bytes | None) -> None:
    place.with_suffix(".json").unlink()
    if told is not None:
        place.with_suffix(".json").write_bytes(told)
    with pytest.raises(ValueError, match=r"x\.csv: the rows are not those recorded.*says no rows_sha256"):
        read_rows("x", scale="study", folder=place.parents[1])


def test_every_row_of_the_record_is_as_it_was_recorded() -> None:
    files = sorted(RESULTS.rglob("*.csv"))
    assert {f.with_suffix(".csv") for f in RESULTS.rglob("*.json")} == set(files)
    for file in files:
        rows, facts = read_pair(file)
        assert rows
        assert facts
        told = file.with_suffix(".json").read_bytes()
        assert told == as_json(json.loads(told)), "the JSON is as a command writes it"


def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "rows.csv", b"before")

    def full(path: Path, content: bytes) -> None:
        with path.open("wb") as file:
            file.write(content[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "rows.csv", b"after")
    assert (tmp_path / "rows.csv").read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path))
    return tmp_path


@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_numbers_keep_all_their_digits(values) -> None:
    for kind in (list, np.array, lambda v: torch.tensor(v, dtype=torch.float64)):
        lines = as_csv([{"value": v} for v in kind(values)]).decode().splitlines()
        back = [float(line) for line in lines[1:]]
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(back, values, strict=True))


def test_text_with_commas_quotes_and_lines_comes_back(results: Path) -> None:
    rows = [{"norm": 'layer, "ours"', "note": "two\nlines"}, {"norm": "", "note": "µ"}]
    path = write_rows("x", rows, {"seed": 0}, scale="smoke")
    assert path == results / "smoke" / "x.csv"
    assert read_rows("x", scale="smoke") == rows
    assert read_facts("x", scale="smoke") == {"seed": 0}


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
