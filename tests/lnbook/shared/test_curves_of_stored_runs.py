"""The stored runs are read to the same bits as by plain loops over their rows."""

import math
from typing import Any

import numpy as np
import pytest

from lnbook.shared import curves

Run = list[dict[str, Any]]
COLUMNS = {  # of each experiment with recorded runs: a loss or an error, and a recall turned round
    "order_embedding": "valid_image_mean",
    "attentive_reader": "valid_error",
    "skip_thoughts": "valid_nats_per_word",
    "draw": "test_bound",
    "handwriting": "valid_nats",
    "permutation_mnist": "test_error",
}


def plain_runs(rows: Run, settings: tuple[Any, ...]) -> dict[int, Run]:
    found: dict[int, Run] = {}
    for row in rows:
        if (row["norm"], row["batch_size"], row["selected"]) == (*settings, 0):
            found.setdefault(row["seed"], []).append(row)
    return dict(sorted(found.items()))


def of_one_setting(rows: Run) -> Run:
    """Of each norm and batch size the runs set up like the first such run."""
    first: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    kept = []
    for row in rows:
        setting = tuple(row.get(key) for key in ("gain", "start", "rate", "updates", "score", "decoder"))
        if first.setdefault((row["norm"], row["batch_size"]), setting) == setting:
            kept.append(row)
    return kept


def plain_time(run: Run, key: str, goal: float) -> float:
    """The update at which a column falls to a goal; a training loss counts for the middle of its updates."""
    before = None
    for k, row in enumerate(run):
        if row[key] is None:
            continue
        at = (run[k - 1]["update"] + row["update"]) / 2 if key == "train_loss" else float(row["update"])
        if row[key] <= goal:
            if before is None:
                return at
            value, since = before
            return since + (value - goal) / (value - row[key]) * (at - since)
        before = row[key], at
    return math.inf


def bits(values: Any) -> bytes:
    return np.array(values, dtype=float).tobytes()


@pytest.mark.parametrize(
    ("experiment", "scale"), [*((e, "study") for e in COLUMNS), ("permutation_mnist", "paper")]
)
def test_tables_and_loops_over_rows_give_the_same_bits(experiment: str, scale: str) -> None:
    rows = of_one_setting(curves.stored(experiment, scale=scale)[0])
    key = COLUMNS[experiment]
    kinds = sorted({(row["norm"], row["batch_size"]) for row in rows})
    for kind in kinds:
        runs = plain_runs(rows, kind)
        tables = curves.runs_of(rows, *kind)
        assert list(tables) == list(runs)
        for seed, run in runs.items():
            assert bits(tables[seed][key]) == bits([row[key] for row in run])
            assert tables[seed]["update"].tolist() == [row["update"] for row in run]
            middle = run[len(run) // 2]
            near = min(run, key=lambda r: abs(r["cases_seen"] - middle["cases_seen"] - 1))
            assert curves.near(middle["cases_seen"] + 1, key)(tables[seed]) == near[key]
            assert curves.near(math.inf, key, 100)(tables[seed]) == 100 * run[-1][key]
            for column in (key, "train_loss"):
                values = [row[column] for row in run if row[column] is not None]
                for goal in (values[0], values[len(values) // 2], sum(values[:2]) / 2, min(values) - 1):
                    found = curves.reached(goal, column)(tables[seed])
                    assert bits(found) == bits(plain_time(run, column, goal)), (kind, seed, column, goal)


def test_the_late_error_is_summed_without_rounding() -> None:
    rows, _ = curves.stored("permutation_mnist", scale="paper")
    for seed, run in plain_runs(rows, ("layer", 128)).items():
        logs = [math.log(row["test_nll"]) for row in run[-10:]]
        expected = math.exp(math.fsum(logs) / 10)
        assert curves.late("test_nll")(curves.runs_of(rows, "layer", 128)[seed]) == expected
