"""Who is ahead, on rows made by hand."""

import math

import pytest

from lnbook.pages.sec6_1_order_embeddings.race import (
    FIGURE_1,
    METRICS,
    figure_1,
    fits,
    gains,
    slowest,
    speed_up_table,
    speed_ups,
    summary,
    table,
    to_the_best,
)
from lnbook.training import Row

UPDATES = (0, 10, 20, 30)
RECALLS = {"none": (0.0, 20.0, 40.0, 60.0), "layer": (0.0, 40.0, 80.0, 70.0)}
LOSSES = {"none": (None, 8.0, 4.0, 2.0), "layer": (None, 4.0, 2.0, 1.0)}


def rows(seeds: int = 2) -> list[Row]:
    found: list[Row] = []
    for seed in range(seeds):
        for norm, recalls in RECALLS.items():
            run: list[Row] = []
            for k, update in enumerate(UPDATES):
                row: Row = {"norm": norm, "batch_size": 8, "seed": seed, "selected": 0, "update": update}
                row["score"] = "order"
                row |= {"seconds": update * (2.0 if norm == "layer" else 1.0)}
                row |= dict.fromkeys(FIGURE_1, recalls[k]) | {"train_loss": LOSSES[norm][k]}
                row["valid_image_r10"] = recalls[k] if norm == "none" else recalls[k] / 2
                run.append(row)
            best = run[recalls.index(max(recalls))] | {"selected": 1}
            best |= {f"test_{metric}": max(recalls) + seed for metric in METRICS}
            found += [*run, best]
    return found


def test_updates_to_the_recall_that_both_reach() -> None:
    # both reach 60: the baseline at 30, layer norm half-way from 10 to 20
    assert speed_ups(rows(), "valid_image_r1") == pytest.approx({0: 2.0, 1: 2.0})
    assert speed_ups(rows(), "valid_image_r1", "seconds") == pytest.approx({0: 1.0, 1: 1.0})
    # both reach 40: at 20 and at 20
    assert speed_ups(rows(), "valid_image_r10") == pytest.approx({0: 1.0, 1: 1.0})


def test_the_slowest_recall_is_the_one_that_counts() -> None:
    key, mean = slowest(rows())
    assert (key, mean.n) == ("valid_image_r10", 2)
    assert mean.value == pytest.approx(1.0)


def test_updates_to_the_training_loss_that_both_reach() -> None:
    assert fits(rows()) == pytest.approx({0: 1.5, 1: 1.5})  # 2.0: at 30 and at 20


def test_the_best_model_comes_earlier_in_updates_but_not_in_seconds() -> None:
    assert to_the_best(rows()) == pytest.approx({0: 20 / 30, 1: 20 / 30})
    assert to_the_best(rows(), "seconds") == pytest.approx({0: 40 / 30, 1: 40 / 30})


def test_gains_and_the_table_are_of_the_selected_models() -> None:
    assert gains(rows(), "image_r1") == {0: 20.0, 1: 20.0}
    assert table(rows()) == {"OE": [60.5] * 8, "OE + LN": [80.5] * 8}
    assert len(METRICS) == 8


def test_the_symmetric_baseline_is_compared_and_mixes_with_nothing() -> None:
    symmetric = [row | {"score": "cosine"} for row in rows() if row["norm"] == "none"]
    for row in symmetric:
        row |= {f"test_{metric}": row[f"test_{metric}"] - 7 for metric in METRICS if row["selected"]}
    both = rows() + symmetric
    assert gains(both, "image_r1", of="OE", over="Sym") == {0: 7.0, 1: 7.0}
    assert gains(both, "image_r1") == gains(rows(), "image_r1")
    assert summary(both) == summary(rows())
    assert table(both) == {"Sym": [53.5] * 8, **table(rows())}


def test_one_seed_gives_no_interval() -> None:
    assert math.isnan(slowest(rows(1))[1].value)


def test_the_summary_has_a_number_a_seed_for_each_rule() -> None:
    found = summary(rows())
    assert {name: [round(value, 6) for value in values] for name, values in found.items()} == {
        "s61-speedup": [1.0] * 2,
        "s61-fits": [1.5] * 2,
        "s61-converges": [round(20 / 30, 6)] * 2,
        "s61-seconds": [round(40 / 30, 6)] * 2,
    }
    table = speed_up_table(rows()).to_markdown().splitlines()
    assert table[2] == "| R@1 | 2.00 (2 seeds, no interval) | 1.00 (2 seeds, no interval) |"


def test_gains_are_differences_of_the_selected_models_by_seed() -> None:
    given = rows()
    for row in given:
        if row["selected"] and row["norm"] == "layer" and row["seed"] == 1:
            row["test_image_r5"] += 6
    assert gains(given, "caption_r1") == {0: 20.0, 1: 20.0}
    assert gains(given, "image_r5") == {0: 20.0, 1: 26.0}


def test_the_curves_of_figure_1_leave_out_the_row_before_training() -> None:
    found = figure_1(rows())
    assert list(found) == [1, 5, 10]
    assert found[5]["layer"]["update"].tolist() == [10, 20, 30]
    assert found[5]["layer"]["mean"].tolist() == [40, 80, 70]


def test_a_recall_that_nobody_raises_has_no_speed_up_and_counts_as_the_slowest() -> None:
    given = rows()
    for row in given:
        row["valid_image_r5"] = 0.0
    assert all(math.isnan(factor) for factor in speed_ups(given, "valid_image_r5").values())
    key, mean = slowest(given)
    assert key == "valid_image_r5"
    assert math.isnan(mean.value)
    assert speed_up_table(given).rows[1] == ["R@5", "no number (no interval)", "no number (no interval)"]
