"""A speed-up at every goal."""

import math

import pytest

from lnbook.pages.sec7_conclusion.drawings import factors
from lnbook.pages.sec7_conclusion.goals import RACES, SHARES, Race, at_goals, means, one_sided
from lnbook.shared.curves import Mean, stored

RACE = Race("made up", "loss", lambda run: run["loss"], 8)


def run(norm: str, seed: int, losses: list[float]) -> list[dict]:
    times = range(0, 10 * len(losses), 10)
    told = {"norm": norm, "batch_size": 8, "seed": seed}
    return [{**told, "update": t, "loss": loss} for t, loss in zip(times, losses, strict=True)]


ROWS = [
    *run("none", 0, [8.0, 6.0, 4.0, 0.0]),
    *run("layer", 0, [8.0, 4.0, 0.0, 0.0]),
    *run("none", 1, [8.0, 6.0, 4.0, 0.0]),
    *run("layer", 1, [8.0, 6.0, 4.0, 1.0]),
]


def test_a_goal_is_a_share_of_the_baselines_fall_and_a_network_that_never_arrives_has_0():
    assert at_goals(ROWS, RACE, (0.5, 0.75, 1.0)) == {
        0.5: {0: 2.0, 1: 1.0},
        0.75: {0: 25 / 15, 1: pytest.approx(25 / (20 + 20 / 3))},
        1.0: {0: 1.5, 1: 0.0},
    }


def test_goals_that_a_run_passes_before_its_first_measurement_are_left_out():
    assert list(at_goals(ROWS, RACE, (0.25, 0.475, 0.5))) == [0.5]


def test_a_goal_that_a_run_misses_has_no_mean():
    assert list(means(at_goals(ROWS, RACE, (0.5, 1.0)))) == [0.5]


def test_who_is_ahead_may_depend_on_the_goal():
    ahead, behind = Mean(1.2, 1.1, 1.3, 5), Mean(0.9, 0.8, 1.0, 5)
    assert one_sided({0.5: ahead, 0.6: ahead})
    assert not one_sided({0.5: ahead, 0.6: behind})


@pytest.mark.parametrize("section", RACES)
def test_the_recorded_runs_have_a_factor_at_nine_tenths_of_the_fall(section):
    found = at_goals(stored(RACES[section].experiment)[0], RACES[section])
    assert set(found) <= set(SHARES)
    assert len(found[0.9]) >= 5
    assert all(math.isfinite(factor) and factor >= 0 for factor in found[0.9].values())


def test_a_panel_has_a_line_for_each_seed_and_the_mean_where_all_arrive():
    found = at_goals(ROWS, RACE, (0.5, 0.75, 1.0))
    fig = factors({"6.4 made up": found})
    mean, *seeds = fig.axes[0].lines[1:]
    assert list(mean.get_xdata()) == [50, 75]
    assert [list(line.get_xdata()) for line in seeds] == [[50, 75, 100], [50, 75]]
