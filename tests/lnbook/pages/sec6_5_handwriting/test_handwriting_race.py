"""Who is ahead: on runs made up by hand."""

import math

import pandas as pd
import pytest

from lnbook.pages.sec6_5_handwriting import race
from lnbook.shared.own_step import at_own_steps


def rows(norm: str, losses: list[float], seed: int = 0, rate: float = 0.1) -> list[dict[str, object]]:
    return [
        {
            "norm": norm,
            "seed": seed,
            "batch_size": 8,
            "rate": rate,
            "update": 10 * k,
            "seconds": 2.0 * k,
            "valid_nats": loss - 1,
            "test_nats": loss + 1,
            "train_loss": loss / 100,
        }
        for k, loss in enumerate(losses)
    ]


def test_the_goal_is_the_baselines_lowest_loss_when_it_first_has_it() -> None:
    both = rows("none", [9, 5, 3, 4]) + rows("layer", [9, 3, 1, 2])
    assert race.speed_ups(both, share=1.0) == {0: 2.0}
    slow = [{**row, "seconds": 3 * row["seconds"]} if row["norm"] == "layer" else row for row in both]
    assert race.speed_ups(slow, "seconds", share=1.0)[0] == pytest.approx(2 / 3)


def test_nine_tenths_of_the_fall_are_counted_from_the_untrained_baseline() -> None:
    both = rows("none", [13, 8, 3]) + rows("layer", [10, 4, 4])
    # 13 - 0.9 * 10 = 4: the baseline is there at 18 updates, layer norm at 10
    assert race.speed_ups(both)[0] == pytest.approx(1.8)


def test_layer_norm_that_never_gets_there_has_speed_zero() -> None:
    assert race.speed_ups(rows("none", [9, 5, 3]) + rows("layer", [9, 6, 4]), share=1.0) == {0: 0.0}
    assert race.first_at(pd.DataFrame(rows("none", [9, 5])), 4) == math.inf


def test_each_network_races_at_the_step_size_that_is_best_on_the_other_seeds() -> None:
    slow, quick = [9, 5, 3], [9, 3, 3]
    runs = [rows("none", slow, seed=seed, rate=rate) for seed in (0, 1) for rate in (0.1, 0.2)]
    runs += [rows("layer", quick, seed=0, rate=0.1), rows("layer", slow, seed=0, rate=0.2)]
    runs += [rows("layer", [9, 7, 6], seed=1, rate=0.1), rows("layer", quick, seed=1, rate=0.2)]
    own = at_own_steps([row for run in runs for row in run], lambda run: run["valid_nats"].min())
    assert own.chosen["layer"] == {0: 0.2, 1: 0.1}  # each seed's own best would be the other
    assert race.speed_ups(own.rows, share=1.0) == {0: 1.0, 1: 0.0}


def test_a_gap_is_a_share_of_the_fall_and_has_a_sign() -> None:
    one, other = [9, 5, 4], [9, 3, 5]
    assert race.gaps(rows("none", one) + rows("layer", other)) == {0: pytest.approx(-1 / 5)}
    assert race.gaps(rows("none", other) + rows("layer", one)) == {0: pytest.approx(1 / 6)}


def test_lines_leave_out_the_row_before_training() -> None:
    both = rows("none", [9, 5, 3]) + rows("layer", [9, 3, 1])
    (norm, line), *_ = race.lines(both)
    assert norm == "none"
    assert line["update"].tolist() == [10, 20]
    assert line["mean"].tolist() == [5, 3]
    assert race.lines(both, race.fresh)[0][1]["mean"].tolist() == [0.05, 0.03]


def test_panels_become_rows_and_words() -> None:
    panels = {"one": race.lines(rows("none", [9, 5, 3]) + rows("layer", [9, 3, 1]))}
    assert race.flat(panels)[-1] == {"panel": "one", "norm": "layer", "update": 20.0, "mean": 1.0}
    assert race.spoken(panels) == "one, none: 5 to 3; one, layer: 3 to 1"


def test_a_loss_that_never_falls_has_no_race_and_no_gap() -> None:
    both = rows("none", [5, 6, 7]) + rows("layer", [5, 4, 3])
    assert math.isnan(race.speed_ups(both)[0])
    assert math.isnan(race.gaps(both)[0])


def test_a_run_that_begins_below_the_goal_is_there_at_once() -> None:
    below = rows("layer", [4, 3])
    assert race.first_at(pd.DataFrame(below), 6.0) == 0
    assert math.isnan(race.speed_ups(rows("none", [9, 5]) + below)[0])
