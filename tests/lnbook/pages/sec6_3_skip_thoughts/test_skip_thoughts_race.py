"""Who is ahead: on curves whose answer is known."""

import math

import pytest

from lnbook.pages.sec6_3_skip_thoughts import race

Curves = dict[tuple[str, int], list[float]]


def rows(curves: Curves, initial: str = "scaled", decoder: str = "code") -> list[dict]:
    same = {"batch_size": 4, "initial": initial, "decoder": decoder}
    made = [
        {"norm": norm, "seed": seed, **same, "update": 10 * k, "seconds": 3.0 * k * k, race.LOSS: loss}
        for (norm, seed), losses in curves.items()
        for k, loss in enumerate(losses)
    ]
    for row in made:
        bonus = 0.02 if row["norm"] == "layer" else 0.0
        for task, column in race.COLUMNS.items():
            share = (0.6 if task == "mr" else 0.5) + 0.001 * row["update"] + bonus + 0.01 * row["seed"]
            row[column] = share
            row |= {f"{kind}_{column}": 0.25 for kind in ("untrained", "random", "bag")}
    return made


CURVES: Curves = {
    ("none", 0): [9.0, 7.0, 5.0],
    ("layer", 0): [9.0, 5.0, 3.0],
    ("none", 1): [9.0, 5.0, 4.0],
    ("layer", 1): [9.0, 7.0, 5.0],
    ("none", 2): [9.0, 8.0, 7.0],
}


def test_speed_ups_are_quotients_to_the_lowest_loss_that_both_reach() -> None:
    assert race.speed_ups(rows(CURVES)) == {0: 2.0, 1: 0.5}  # seed 2 has no pair
    seconds = race.speed_ups(rows(CURVES), axis="seconds")
    assert seconds == {0: 4.0, 1: 0.25}


def test_straight_lines_join_measurements() -> None:
    found = race.speed_ups(rows({("none", 0): [9.0, 8.0, 6.0], ("layer", 0): [9.0, 7.0, 5.0]}))
    assert found[0] == pytest.approx(20 / 15)


def test_runs_with_other_initial_weights_do_not_mix() -> None:
    both = rows(CURVES) + rows({("none", 0): [9.0, 8.0], ("layer", 0): [9.0, 8.0]}, "printed")
    assert race.speed_ups(both) == race.speed_ups(rows(CURVES))
    assert race.speed_ups(both, initial="printed") == {0: 1.0}


def test_runs_with_other_decoders_do_not_mix_and_are_compared_without_a_norm() -> None:
    article = rows(CURVES, decoder="article")
    for row in article:
        row["mr_accuracy"] -= 0.04
        row["sick_pearson"] += 0.03 if row["norm"] == "none" else 0.5
    both = rows(CURVES) + article
    assert race.speed_ups(both) == race.speed_ups(rows(CURVES))
    assert race.mean_gains(both) == race.mean_gains(rows(CURVES))
    found = race.decoders(both)
    assert found["accuracy"] == pytest.approx({0: 1.0, 1: 1.0, 2: 1.0})  # 4 points on one of four sets
    assert found["sick"] == pytest.approx({0: -0.03, 1: -0.03, 2: -0.03})


def test_gains_are_points_of_accuracy_or_of_correlation() -> None:
    given = rows(CURVES)
    assert race.gains(given, "mr_accuracy") == pytest.approx({0: 2.0, 1: 2.0})
    assert race.gains(given, "sick_pearson") == pytest.approx({0: 0.02, 1: 0.02})
    for row in given:
        row["sick_mse"] = 1.0 - row["sick_pearson"]
    assert race.gains(given, "sick_mse") == pytest.approx({0: -0.02, 1: -0.02})
    assert race.ends(given, "none", race.LOSS) == {0: 5.0, 1: 4.0, 2: 7.0}
    assert race.ends(given, "none", race.LOSS, row=0) == {0: 9.0, 1: 9.0, 2: 9.0}


def test_means_are_over_the_four_sets_with_two_classes() -> None:
    given = rows(CURVES)
    # 0.62, 0.52, 0.52, 0.52 at the end, and 1 more for each seed
    assert race.mean_scores(given, "none") == pytest.approx({0: 54.5, 1: 55.5, 2: 56.5})
    assert race.mean_scores(given, "none", "bag") == pytest.approx({0: 25.0, 1: 25.0, 2: 25.0})
    assert race.scores(given, "random") == pytest.approx(dict.fromkeys(race.COLUMNS, 0.25))
    assert race.mean_gains(given) == pytest.approx({0: 2.0, 1: 2.0})  # seed 2 has no pair
    assert race.averages(given)["none", ""] == pytest.approx(55.5)
    assert race.averages(given)["layer", "untrained"] == pytest.approx(25.0)


def test_bands_have_a_curve_for_each_norm_without_the_start() -> None:
    given = rows({key: losses for key, losses in CURVES.items() if key[1] < 2})
    bands = race.losses(given)
    assert bands["scaled"]["none"]["mean"].tolist() == [6.0, 4.5]
    tracks = race.tracks(given)
    assert tracks.keys() == race.COLUMNS.keys()
    assert tracks["mr"]["layer"]["update"].tolist() == [10.0, 20.0]
    assert tracks["mr"]["layer"]["mean"][-1] == pytest.approx(0.645)


def test_runs_that_are_best_untrained_have_no_race() -> None:
    found = race.speed_ups(rows({("none", 0): [5.0, 6.0], ("layer", 0): [5.0, 7.0]}))
    assert math.isnan(found[0])
