"""Who is ahead: on curves whose answer is known."""

import numpy as np
import pytest

from lnbook.pages.sec6_2_attentive_reader import race

NONE, LAYER, SMALL_GAIN = ("none", 1.0, "small"), ("layer", 1.0, "small"), ("layer", 0.1, "small")


def rows(curves: dict[tuple[tuple[str, float, str], int], list[float]]) -> list[dict]:
    return [
        {
            "norm": norm,
            "gain": gain,
            "start": start,
            "seed": seed,
            "batch_size": 4,
            "selected": 0,
            "update": 10 * k,
            "seconds": (2.0 if norm == "layer" else 1.0) * k,
            "valid_error": error,
        }
        for ((norm, gain, start), seed), errors in curves.items()
        for k, error in enumerate(errors)
    ]


GIVEN = rows(
    {
        (NONE, 0): [0.9, 0.8, 0.7, 0.6],
        (LAYER, 0): [0.9, 0.5, 0.4, 0.4],
        (NONE, 1): [0.9, 0.8, 0.7, 0.6],
        (LAYER, 1): [0.9, 0.8, 0.7, 0.65],
        (SMALL_GAIN, 0): [0.9, 0.9, 0.9, 0.7],
        (NONE, 2): [0.9, 0.8, 0.7, 0.5],
    }
)


def test_late_errors_are_means_over_the_last_quarter() -> None:
    assert race.late(GIVEN, LAYER) == {0: 0.4, 1: 0.65}
    assert race.level(GIVEN, LAYER) == pytest.approx(52.5)
    eight = rows({(NONE, 0): [1, 1, 1, 1, 1, 1, 0.5, 0.25]})
    assert race.late(eight, NONE) == {0: 0.375}
    assert race.late(eight, NONE, 1.0) == {0: 6.75 / 8}


def test_kinds_are_told_apart_by_gain_and_compared_by_seed() -> None:
    assert race.differences(GIVEN, SMALL_GAIN, LAYER) == {0: pytest.approx(30)}
    assert race.differences(GIVEN, NONE, LAYER) == {0: pytest.approx(20), 1: pytest.approx(-5)}


def test_speed_ups_are_quotients_to_the_late_error_of_the_slower_and_zero_for_never() -> None:
    assert race.speed_ups(GIVEN, NONE, LAYER) == {0: pytest.approx(30 / 7.5), 1: 0.0}
    assert race.speed_ups(GIVEN, NONE, LAYER, "seconds") == {0: pytest.approx(3 / 1.5), 1: 0.0}


def test_times_are_on_straight_lines_between_measurements() -> None:
    assert race.times(GIVEN, NONE, {0: 0.75, 5: 0.1}) == {0: pytest.approx(15)}
    assert race.times(GIVEN, NONE, {0: 0.1}) == {0: np.inf}


def test_a_curve_is_in_per_cent_and_has_its_interval() -> None:
    found = race.curve(GIVEN, NONE)
    np.testing.assert_allclose(found["update"], [10, 20, 30])
    np.testing.assert_allclose(found["mean"], [80, 70, 170 / 3])
    assert found["low"][2] < found["mean"][2] < found["high"][2]


def test_a_reader_that_begins_at_the_goal_has_no_race() -> None:
    found = race.speed_ups(
        rows({(NONE, 0): [0.8, 0.9, 0.9, 0.8], (LAYER, 0): [0.7, 0.7, 0.7, 0.7]}), NONE, LAYER
    )
    assert np.isnan(found[0])
