"""Runs as tables are read as they were measured; means over seeds have their interval."""

import math

import numpy as np
import pandas as pd
import pytest

from lnbook import curves
from lnbook.ledger.rows import write_rows

ERRORS = {0: [0.9, 0.4, 0.2, 0.1], 1: [0.8, 0.5, 0.4, 0.1]}
ROWS = pd.DataFrame(
    [
        {"norm": norm, "seed": seed, "selected": 0, "update": 10 * k, "cases_seen": 40 * k, "error": e}
        for norm in ("none", "layer")
        for seed, errors in ERRORS.items()
        for k, e in enumerate(errors)
    ]
)


def test_a_line_is_a_seed_and_a_column_a_norm_and_two_runs_are_not_taken_for_one():
    table = curves.per_seed(ROWS[(ROWS["norm"] == "none") | (ROWS["seed"] == 0)], curves.last("error", 100))
    assert table["none"].to_dict() == {0: 10.0, 1: 10.0}
    assert table["layer"].isna().tolist() == [False, True]
    with pytest.raises(ValueError, match="two runs have norm 'none' and seed 0"):
        curves.per_seed(pd.concat([ROWS, ROWS]), curves.last("error"))


def test_measures_take_the_row_that_they_name():
    run = ROWS[(ROWS["norm"] == "none") & (ROWS["seed"] == 0)]
    assert curves.near(75, "error", 100)(run) == pytest.approx(20)
    assert curves.last("error")(run) == 0.1
    assert curves.late("error", 2)(run) == pytest.approx(math.sqrt(0.02))


def test_settings_pick_runs_and_the_selected_model_stands_apart():
    rows = pd.concat([ROWS, ROWS.iloc[:1].assign(selected=1, error=0.05)])
    assert len(curves.runs(rows)) == len(ROWS)
    assert curves.runs(rows, selected=1)["error"].tolist() == [0.05]
    assert set(curves.runs(rows, norm="layer", seed=[0, 1])["norm"]) == {"layer"}
    with pytest.raises(ValueError, match=r"no runs with .*'batch'.*there are .*'layer', 'none'"):
        curves.runs(rows, norm="batch")


def test_a_band_holds_the_mean_and_neither_the_time_before_training_nor_a_run_that_ended_early():
    band = curves.band(ROWS, "error", 100)["layer"]
    assert band["update"].tolist() == [10, 20, 30]
    # Means of two numbers with one decimal, times 100: the last bit of a float64 is the only slack.
    np.testing.assert_allclose(band["mean"], [45, 30, 10], rtol=1e-14)
    assert (band["low"] <= band["mean"]).all()
    geometric = curves.band(ROWS, "error", geometric=True)["none"]
    np.testing.assert_allclose(geometric["mean"], np.sqrt([0.2, 0.08, 0.01]), rtol=1e-14)
    short = ROWS[(ROWS["seed"] == 0) | (ROWS["update"] < 20)]
    assert curves.band(short, "error")["none"]["mean"].tolist() == ERRORS[0][1:]


def test_recorded_rows_come_back_as_numbers_with_their_provenance(tmp_path, monkeypatch):
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path))
    rows = [{"norm": "layer, logits too", "seed": 0, "rate": 1e-3, "train_loss": None}]
    runs = [{"commit": c, "seconds": 1.0} for c in ("b", "a", "b")]
    write_rows("some", rows, {"cpu": "x", "runs": runs}, scale="study")
    read, facts = curves.recorded("some")
    assert read.drop(columns="train_loss").to_dict("records") == [
        {"norm": "layer, logits too", "seed": 0, "rate": 1e-3}
    ]
    assert facts == {"cpu": "x", "commit": "a, b", "runs": runs}
    with pytest.raises(FileNotFoundError, match="other"):
        curves.recorded("other")
    assert not curves.has("other", "paper")


def test_a_mean_of_logarithms_has_its_interval_and_nan_counts_for_no_seed():
    geometric = curves.mean_of([1.0, 2.0, 4.0], geometric=True)
    assert geometric.value == pytest.approx(2.0)
    assert geometric.low < 2 < geometric.high
    assert curves.mean_of([1.0, math.nan, 3.0]).n == 2
