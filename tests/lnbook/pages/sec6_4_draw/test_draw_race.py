"""Who is ahead: on curves whose answer is known."""

import math

import pytest

from lnbook.pages.sec6_4_draw import race
from lnbook.shared.wording import lead


def rows(curves: dict[tuple[str, int], list[float]]) -> list[dict]:
    same = {"batch_size": 4, "selected": 0, "test_cases": 500}
    return [
        {"norm": norm, "seed": seed, **same, "update": 10 * k, "test_bound": bound}
        for (norm, seed), bounds in curves.items()
        for k, bound in enumerate(bounds)
    ]


CURVES = {
    ("none", 0): [9.0, 7.0, 5.0],
    ("layer", 0): [9.0, 5.0, 3.0],
    ("none", 1): [9.0, 8.0, 6.0],
    ("layer", 1): [9.0, 8.5, 7.0],
    ("none", 2): [9.0, 8.0, 7.0],
}


def test_speed_ups_are_quotients_of_updates_to_the_baselines_last_bound() -> None:
    found = race.speed_ups(rows(CURVES))
    assert found == {0: 2.0, 1: 0.0}  # the second run of layer norm never gets there, seed 2 has no pair


def test_straight_lines_join_measurements() -> None:
    found = race.speed_ups(rows({("none", 0): [9.0, 8.0, 6.0], ("layer", 0): [9.0, 7.0, 5.0]}))
    assert found[0] == pytest.approx(20 / 15)


def test_a_last_row_on_other_cases_sets_no_goal_and_meets_none() -> None:
    given = rows({("none", 0): [9.0, 8.0, 6.0, 7.5], ("layer", 0): [9.0, 7.0, 5.0, 6.5]})
    for row in given:
        row["test_cases"] = 10_000 if row["update"] == 30 else 500
    assert race.speed_ups(given)[0] == pytest.approx(20 / 15)  # and not 30 / 7.5, to the goal 7.5
    assert len(race.alike(given)) == 6
    assert race.gains(given) == {0: 1.0}  # both ends are on all cases


def test_runs_of_unequal_length_are_compared_by_the_baselines_end() -> None:
    found = race.speed_ups(rows({("none", 0): [9.0, 8.0, 6.0, 4.0], ("layer", 0): [9.0, 4.0]}))
    assert found[0] == 3.0


def test_ends_gains_and_lines() -> None:
    given = rows(CURVES)
    assert race.ends(given, "layer") == {0: 3.0, 1: 7.0}
    assert race.gains(given) == {0: 2.0, 1: -1.0}
    lines = race.lines(given)
    assert [norm for norm, _ in lines] == ["none"] * 3 + ["layer"] * 2
    assert lines[0][1]["update"].tolist() == [10.0, 20.0]
    assert lines[0][1]["mean"].tolist() == [7.0, 5.0]


def test_a_race_in_which_nobody_arrives_is_a_result_and_no_error() -> None:
    found = race.speed_ups(rows({("none", 0): [9.0, 8.0], ("layer", 0): [9.5, 8.5]}))
    assert found == {0: 0.0}
    assert "layer norm misses the goal in 1 of 1 runs" in lead(found, 10)


def test_a_run_that_begins_at_the_goal_has_no_race() -> None:
    found = race.speed_ups(rows({("none", 0): [9.0, 8.0], ("layer", 0): [7.5, 7.0]}))
    assert math.isnan(found[0])
