"""Rows are read only as they were recorded: a changed value, a swapped or a missing file is said by name."""

import json
import shutil
from pathlib import Path

import pytest

from lnbook.cli.claims import record
from lnbook.ledger import pairs
from lnbook.ledger.pairs import DIGEST, as_json, read_pair, write_pair
from lnbook.ledger.report import report
from lnbook.ledger.rows import read_facts, read_rows

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "book" / "results"
ROWS = b"norm,error\nlayer,0.125\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pairs, "_PAUSE_S", 0.0)
    (tmp_path / "study").mkdir()
    path = tmp_path / "study" / "x.csv"
    write_pair(path, ROWS, {"commit": "a1b2"})
    return path


def test_rows_and_facts_come_back_as_they_were_written(place: Path) -> None:
    assert read_pair(place) == (ROWS, {"commit": "a1b2"})
    assert sorted(f.name for f in place.parent.iterdir()) == ["x.csv", "x.json"]


@pytest.mark.parametrize("rows", [ROWS.replace(b"0.125", b"0.124"), ROWS + b"none,1\n", ROWS[:-3], b""])
def test_rows_that_were_changed_are_refused_with_both_digests(place: Path, rows: bytes) -> None:
    place.write_bytes(rows)
    told = json.loads(place.with_suffix(".json").read_text())[DIGEST]
    for read in (read_rows, read_facts):
        with pytest.raises(ValueError, match=rf"x\.csv: the rows are not those recorded.*{told}"):
            read("x", scale="study", folder=place.parents[1])


@pytest.mark.parametrize("told", [b"", b"{", b"[]", b"{}", None])
def test_rows_without_a_record_of_how_they_came_about_are_refused(place: Path, told: bytes | None) -> None:
    place.with_suffix(".json").unlink()
    if told is not None:
        place.with_suffix(".json").write_bytes(told)
    with pytest.raises(ValueError, match=r"x\.csv: (how its rows came about cannot|its JSON says no)"):
        read_rows("x", scale="study", folder=place.parents[1])


def test_a_forged_number_never_reaches_the_ledger_or_the_record(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = tmp_path / "book"
    for name in ("claims.toml", "results"):
        source = ROOT / "book" / name
        book.mkdir(exist_ok=True)
        shutil.copytree(source, book / name) if source.is_dir() else shutil.copy2(source, book / name)
    assert report(book).found
    for name in ("study/draw.csv", "book/sec6_4_draw.csv"):
        forged = book / "results" / name
        honest = forged.read_bytes()
        forged.write_bytes(honest.replace(b"0", b"1", 1))
        with pytest.raises(ValueError, match=rf"{forged.name}: the rows are not those recorded"):
            report(book)
        forged.write_bytes(honest)
    rules = report(book).rules
    monkeypatch.setenv("LNLIB_RESULTS", str(book / "results"))
    forged.write_bytes(honest.replace(b"0", b"1", 1))
    with pytest.raises(ValueError, match="not those recorded"):
        record(rules, "book", tmp_path / "kept")
    assert not list(tmp_path.glob("kept/*")), "nothing of it is kept"


def test_of_two_that_record_at_once_both_files_are_of_one(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second writes both of its files after the first has written its rows and before its JSON."""
    write, calls = pairs.write_whole, []

    def interrupted(path: Path, content: bytes) -> None:
        calls.append(path.suffix)
        if len(calls) == 2:
            write_pair(place, b"norm\nsecond\n", {"commit": "second"})
        write(path, content)

    monkeypatch.setattr(pairs, "write_whole", interrupted)
    write_pair(place, ROWS, {"commit": "first"})
    assert read_pair(place) == (ROWS, {"commit": "first"})


def test_a_reader_in_between_waits_for_the_second_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = place.with_suffix(".json").read_bytes()
    write_pair(place, b"norm\nnew\n", {"commit": "new"})
    new = place.with_suffix(".json").read_bytes()
    place.with_suffix(".json").write_bytes(told)
    monkeypatch.setattr(pairs.time, "sleep", lambda s: place.with_suffix(".json").write_bytes(new))
    assert read_pair(place)[1] == {"commit": "new"}


@pytest.mark.parametrize("file", sorted(RESULTS.rglob("*.csv")), ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_every_row_of_the_record_is_as_it_was_recorded(file: Path) -> None:
    rows, facts = read_pair(file)
    told = file.with_suffix(".json").read_bytes()
    assert rows
    assert told == as_json(json.loads(told)), "the JSON is as a command writes it"
    assert facts


def test_every_provenance_has_its_rows() -> None:
    assert {f.with_suffix(".csv") for f in RESULTS.rglob("*.json")} == set(RESULTS.rglob("*.csv"))
