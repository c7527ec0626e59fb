"""What the page on 6.6 reads from stored runs: what is there is shown, what is missing is left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lnbook.ledger.rows import write_rows
from lnbook.pages.sec6_6_permutation_mnist import figure6
from lnbook.pages.sec6_6_permutation_mnist.figure6 import Runs, cell
from lnbook.shared import curves
from lnbook.shared.curves import Mean


def rows_of(norm: str, seed: int, errors: list[float], **also: Any) -> list[dict[str, Any]]:
    settings = {"norm": norm, "batch_size": 128, "rate": 1e-3, "epochs": 2, "seed": seed} | also
    return [
        settings
        | {"selected": 0, "update": 429 * k, "cases_seen": 54_912 * k, "train_loss": error if k else None}
        | {"valid_error": error, "test_error": error / 2, "test_nll": error, "test_confidence": 0.9}
        for k, error in enumerate(errors)
    ]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    rows = rows_of("batch", 0, [0.9, 0.2, 0.1]) + rows_of("batch", 1, [0.9, 0.4, 0.1])
    rows += rows_of("layer", 0, [0.9, 0.1, 0.2]) + rows_of("layer", 1, [0.9, 0.1])
    rows += rows_of("none", 0, [0.9, 0.5, 0.4])
    recorded = {"paper": (rows[:-3], "abc"), "study": (rows[-3:], "abd")}
    for scale, (some, commit) in recorded.items():
        facts = {
            "torch": "2",
            "cpu": "some",
            "date": "today",
            "seconds": 3600.0,
            "runs": [{"commit": commit}],
        }
        write_rows("permutation_mnist", some, facts, scale=scale, folder=tmp_path)
    return Runs.stored(tmp_path)


def test_provenance_names_every_commit_and_the_hours(runs: Runs) -> None:
    assert runs.provenance() == "2 runs, 2.0 hours; commit abc, abd; torch 2; cpu some; date today"


def test_the_table_of_studies_counts_seeds(runs: Runs) -> None:
    assert runs.studies().rows == [["128", "0.001", "2", "batch: 2; layer: 2; none: 1"]]


def test_curves_are_drawn_of_norms_with_two_whole_runs(runs: Runs) -> None:
    drawn = runs.curves(("none", "batch", "layer", "rms"), 128, "test_error", 100)
    assert list(drawn) == ["batch"]
    np.testing.assert_allclose(drawn["batch"]["mean"], [15, 5])
    np.testing.assert_allclose(drawn["batch"]["passes"], [54_912 / 55_000, 2 * 54_912 / 55_000])


def test_norms_are_compared_in_the_seeds_of_both(runs: Runs) -> None:
    first = curves.near(55_000, "train_loss")
    assert runs.each(first, "batch") == {0: 0.2, 1: 0.4}
    assert runs.quotients(first) == {0: pytest.approx(2), 1: pytest.approx(4)}
    assert runs.ratio(first).value == pytest.approx((2 * 4) ** 0.5)
    assert np.isnan(runs.ratio(first, "batch", "none").value)
    assert runs.each(first, "batch", rate=0.1) == {}


def test_speeds_are_by_column_norm_and_goal(runs: Runs) -> None:
    found = runs.speed({"train_loss": (0.15,), "test_error": (0.05,)}, ("batch", "none"))
    batch, layer = runs.each(curves.reached(0.15), "batch"), runs.each(curves.reached(0.15), "layer")
    quotients = [batch[s] / layer[s] for s in (0, 1)]
    assert found["train_loss"]["batch"][0.15].value == pytest.approx((quotients[0] * quotients[1]) ** 0.5)
    assert np.isnan(found["test_error"]["none"][0.05].value)
    assert list(curves.flat(found, "column", "norm", "goal")[0])[:4] == ["column", "norm", "goal", "value"]


def test_step_sizes_are_those_that_were_run(runs: Runs) -> None:
    found = runs.by_rate(curves.near(0, "test_error"), ("batch",))
    assert found["batch"][1e-3].value == pytest.approx(0.45)


def test_tables_leave_out_who_was_not_run(runs: Runs) -> None:
    measures = {"first": curves.near(55_000, "train_loss")}
    shown = runs.table({"batch": "batch norm", "rms": "RMS norm"}, measures)
    assert [row[0] for row in shown.rows] == ["batch norm"]
    assert shown.rows[0][1] == "0.3 (2 seeds)"
    assert runs.table({"rms": "RMS norm"}, measures).rows == [["not run yet", "-"]]
    assert cell(Mean(float("nan"), None, None, 1)) == "-"


def test_confidence_is_compared_with_accuracy_in_points(runs: Runs) -> None:
    run = pd.DataFrame(rows_of("layer", 0, [0.9, 0.3]))
    assert figure6.calibration_gap(run) == pytest.approx(100 * (0.9 - 0.85))
    assert runs.rows["overconfidence"][1] == pytest.approx(0.0)


def test_mistakes_are_those_of_the_first_model_with_the_fewest_in_validation() -> None:
    run = rows_of("layer", 0, [0.1, 0.3, 0.2, 0.2])
    run[2]["test_error"], run[3]["test_error"] = 0.25, 0.5
    assert figure6.fewest_mistakes(pd.DataFrame(run)) == pytest.approx(25)
