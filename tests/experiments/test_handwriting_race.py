"""Who is ahead: on runs made up by hand."""

import math

import pytest

from lnlib.experiments import handwriting_race as race


def rows(norm: str, losses: list[float], seed: int = 0, rate: float = 0.1) -> list[dict[str, object]]:
    return [
        {
            "norm": norm,
            "seed": seed,
            "batch_size": 8,
            "rate": rate,
            "update": 10 * k,
            "seconds": 2.0 * k,
            "test_nats": loss,
        }
        for k, loss in enumerate(losses)
    ]


def test_the_goal_is_the_baselines_lowest_loss_when_it_first_has_it() -> None:
    both = rows("none", [9, 5, 3, 4]) + rows("layer", [9, 3, 1, 2])
    assert race.speed_ups(both) == {0: 2.0}
    slow = [{**row, "seconds": 3 * row["seconds"]} if row["norm"] == "layer" else row for row in both]
    assert race.speed_ups(slow, "seconds")[0] == pytest.approx(2 / 3)


def test_layer_norm_that_never_gets_there_has_speed_zero() -> None:
    assert race.speed_ups(rows("none", [9, 5, 3]) + rows("layer", [9, 6, 4])) == {0: 0.0}
    assert race.first_at(rows("none", [9, 5]), 4) == math.inf


def test_runs_of_two_studies_race_by_seed() -> None:
    none = rows("none", [9, 5, 3]) + rows("none", [9, 5, 3], seed=1)
    layer = rows("layer", [9, 3, 3], seed=1, rate=0.2)
    assert race.speed_ups(none, leader=layer) == {1: 2.0}
    assert race.study_of(none + layer, rate=0.2) == layer


def test_a_gap_is_a_share_of_the_fall() -> None:
    assert race.gaps(rows("none", [9, 5, 4]) + rows("layer", [9, 3, 5])) == {0: pytest.approx(0.2)}


def test_lines_leave_out_the_row_before_training() -> None:
    (norm, line), *_ = race.lines(rows("none", [9, 5, 3]) + rows("layer", [9, 3, 1]))
    assert norm == "none"
    assert line["update"].tolist() == [10, 20]
    assert line["mean"].tolist() == [5, 3]
