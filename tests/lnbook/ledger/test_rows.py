"""Rows come back as written and from the right place; a changed value is named."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.ledger.rows import DIGEST, as_csv, read_facts, read_pair, read_rows, write_rows

RESULTS = Path(__file__).resolve().parents[3] / "book" / "results"


def test_rows_that_were_changed_or_name_no_digest_are_refused(tmp_path):
    path = write_rows(
        "x", [{"norm": "layer", "error": 0.125}], {"at": "a1b2"}, scale="study", folder=tmp_path
    )
    honest, facts = path.read_bytes(), path.with_suffix(".json").read_text()
    told = json.loads(facts)[DIGEST]
    path.write_bytes(honest.replace(b"0.125", b"0.124"))
    for read in (read_rows, read_facts):
        with pytest.raises(ValueError, match=rf"x\.csv: the rows are not those recorded.*{told}"):
            read("x", scale="study", folder=tmp_path)
    path.write_bytes(honest)
    path.with_suffix(".json").write_text("{}")
    with pytest.raises(ValueError, match=r"x\.json says None"):
        read_rows("x", scale="study", folder=tmp_path)


def test_every_row_of_the_record_is_as_it_was_recorded():
    files = sorted(RESULTS.rglob("*.csv"))
    assert {f.with_suffix(".csv") for f in RESULTS.rglob("*.json")} == set(files)
    for file in files:
        rows, facts = read_pair(file)
        assert rows
        assert facts
        told = file.with_suffix(".json").read_text(encoding="utf-8")
        assert told == json.dumps(json.loads(told), indent=1, sort_keys=True) + "\n", "as a command writes it"


@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_numbers_keep_all_their_digits(values):
    for kind in (list, np.array, lambda v: torch.tensor(v, dtype=torch.float64)):
        lines = as_csv([{"value": v} for v in kind(values)]).decode().splitlines()
        back = [float(line) for line in lines[1:]]
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(back, values, strict=True))


def test_the_last_run_comes_before_what_is_committed_and_a_named_folder_before_both(tmp_path, monkeypatch):
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path))
    book = tmp_path / "checkout"
    monkeypatch.setattr("lnbook.ledger.rows.book_dir", lambda: book)
    with pytest.raises(FileNotFoundError, match=r"no rows x\.csv at scale 'book'; `make book SCALE=book`"):
        read_rows("x", scale="book")
    odd = {"norm": 'layer, "ours"', "note": "two\nlines, µ"}
    for place in (book / "results", tmp_path / "named"):
        write_rows("x", [odd | {"from": place.name}], {"at": place.name}, scale="book", folder=place)
    assert read_rows("x", scale="book") == [odd | {"from": "results"}]
    assert read_facts("x", scale="book") == {"at": "results"}
    write_rows("x", [{"from": "run"}], {}, scale="book")
    assert read_rows("x", scale="book") == [{"from": "run"}]
    assert read_rows("x", scale="book", folder=tmp_path / "named") == [odd | {"from": "named"}]
