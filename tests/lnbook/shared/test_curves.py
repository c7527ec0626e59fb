"""Learning curves are read as they were measured."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lnbook.ledger.rows import write_rows
from lnbook.shared import curves

ERRORS = {0: [0.9, 0.4, 0.2, 0.1, 0.1], 1: [0.8, 0.5, 0.4, 0.4, 0.1]}
ROWS = [
    {"norm": "layer", "batch_size": 4, "seed": seed, "update": 10 * k, "test_error": error}
    for seed, errors in ERRORS.items()
    for k, error in enumerate(errors)
]


def test_a_line_is_a_seed_and_a_column_a_measurement() -> None:
    np.testing.assert_array_equal(curves.seeds_of(ROWS, "layer", 4, "test_error"), list(ERRORS.values()))
    with pytest.raises(ValueError, match="'batch_size': 5"):
        curves.seeds_of(ROWS, "layer", 5, "test_error")


def test_a_band_holds_the_mean_and_leaves_out_the_time_before_training() -> None:
    band = curves.band(ROWS, "layer", 4, "test_error", factor=100)
    assert band["update"].tolist() == [10, 20, 30, 40]
    # Means of two numbers with one decimal, times 100: the last bit of a float64 is the only slack.
    np.testing.assert_allclose(band["mean"], [45, 30, 25, 10], rtol=1e-14)
    assert (band["low"] <= band["mean"]).all()
    assert (band["low"][:3] < band["mean"][:3]).all()


def test_the_late_error_is_the_geometric_mean_of_the_second_half() -> None:
    np.testing.assert_allclose(curves.late_error(ROWS, "layer", 4), [0.1, 0.2], rtol=1e-14)


def test_a_goal_is_met_between_measurements_at_the_first_or_never() -> None:
    assert curves.updates_to(0.3, ERRORS[0], [0, 10, 20, 30, 40]) == pytest.approx(15)
    assert curves.updates_to(0.95, ERRORS[0], [0, 10, 20, 30, 40]) == 0
    with pytest.raises(ValueError, match=r"lowest value is 0\.1"):
        curves.updates_to(0.01, ERRORS[0], [0, 10, 20, 30, 40])


def test_the_selected_model_and_other_settings_are_kept_apart() -> None:
    rows = [{**row, "rate": rate, "selected": 0} for row in ROWS for rate in (0.1, 0.2)]
    rows += [{**ROWS[0], "rate": 0.1, "selected": 1, "update": 20, "test_error": 0.05}]
    found = curves.seeds_of(rows, "layer", 4, "test_error", rate=0.1)
    np.testing.assert_array_equal(found, list(ERRORS.values()))
    assert curves.seeds_of(rows, "layer", 4, "test_error", rate=0.1, selected=1).tolist() == [[0.05]]
    with pytest.raises(ValueError, match=r"'rate': 0\.3"):
        curves.seeds_of(rows, "layer", 4, "test_error", rate=0.3)


def test_stored_rows_come_back_as_numbers_with_their_provenance(tmp_path: Path) -> None:
    rows = [{"norm": "layer, logits too", "seed": 0, "rate": 1e-3, "train_loss": None, "nll": float("nan")}]
    write_rows("some", rows, {"commit": "abc"}, scale="study", folder=tmp_path)
    (read,), facts = curves.stored("some", folder=tmp_path)
    assert np.isnan(read.pop("nll"))
    assert read == {"norm": "layer, logits too", "seed": 0, "rate": 1e-3, "train_loss": None}
    assert isinstance(read["seed"], int)
    assert facts == {"commit": "abc"}
    runs = [{"commit": c, "seconds": 1.0} for c in ("b", "a", "b")]
    write_rows("some", rows, {"cpu": "x", "runs": runs}, scale="study", folder=tmp_path)
    assert curves.stored("some", folder=tmp_path)[1] == {"cpu": "x", "commit": "a, b", "runs": runs}
    with pytest.raises(FileNotFoundError, match="other"):
        curves.stored("other", folder=tmp_path)


def test_numbers_of_runs_are_compared_between_runs_of_one_seed() -> None:
    rows = [{**row, "cases_seen": 4 * 10 * (k % 5)} for k, row in enumerate(ROWS)]
    rows += [{**row, "norm": "batch"} for row in rows if row["seed"] == 1]
    last = curves.near(float("inf"), "test_error")
    both, one = curves.each(rows, last, "layer", 4), curves.each(rows, last, "batch", 4)
    assert both == {0: 0.1, 1: 0.1}
    assert curves.over(one, both) == {1: 1.0}
    assert curves.each(rows, last, "weight", 4) == {}
    assert curves.near(75, "test_error", 100)(curves.runs_of(rows, "batch", 4)[1]) == pytest.approx(40)


def test_means_over_seeds_have_their_interval_and_a_lack_of_seeds_is_no_number() -> None:
    arithmetic, geometric = (curves.mean_of({0: 1.0, 1: 2.0, 2: 4.0}, geometric=g) for g in (False, True))
    assert arithmetic.value == pytest.approx(7 / 3)
    assert geometric.value == pytest.approx(2.0)
    for found in (arithmetic, geometric):
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.value < found.high
        assert found.n == 3
    for lacking in ({}, {0: 1.0}, {0: 1.0, 1: float("inf")}):
        assert np.isnan(curves.mean_of(lacking).value)
        assert curves.mean_of(lacking)[1:] == (None, None, 1)


def test_a_training_loss_is_that_of_the_middle_of_its_updates() -> None:
    losses = [None, 0.8, 0.4, 0.2]
    rows = [{"update": 10 * k, "train_loss": loss, "nll": 1.0 - k / 10} for k, loss in enumerate(losses)]
    run = pd.DataFrame(rows)
    assert curves.reached(0.6)(run) == pytest.approx(10)  # 0.8 stands at 5, 0.4 at 15
    assert curves.reached(0.1)(run) == float("inf")
    assert curves.reached(0.85, "nll")(run) == pytest.approx(15)


def test_a_quotient_of_zero_has_no_geometric_mean_and_warns_of_nothing() -> None:
    assert np.isnan(curves.mean_of({0: 0.0, 1: 2.0}, geometric=True).value)
    assert curves.mean_of({0: 0.0, 1: 2.0}).value == 1.0


def test_a_geometric_band_holds_the_mean_of_the_logarithms() -> None:
    band = curves.band(ROWS, "layer", 4, "test_error", geometric=True)
    np.testing.assert_allclose(band["mean"], np.sqrt([0.2, 0.08, 0.04, 0.01]), rtol=1e-14)
    assert (band["low"] > 0).all()


def test_two_runs_of_a_seed_are_not_taken_for_one() -> None:
    run = [{"norm": "layer", "batch_size": 4, "seed": 0, "update": k, "loss": 1.0} for k in range(3)]
    with pytest.raises(ValueError, match="two runs of seed 0 have norm 'layer' and batch size 4"):
        curves.runs_of([*run, *run], "layer", 4)
