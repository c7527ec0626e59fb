"""The race: symmetric, censored and not dropped, at own step sizes."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook import curves, races
from lnbook.races import Race


def run(norm: str, levels: list[float], *, seed: int = 0, rate: float = 0.1) -> pd.DataFrame:
    """Rows ten updates apart, as `tidy` makes them."""
    times = 10.0 * np.arange(len(levels))
    return pd.DataFrame(
        {"norm": norm, "seed": seed, "rate": rate, "update": times, "time": times, "level": levels}
    )


@given(
    st.lists(st.floats(0.1, 9), min_size=3, max_size=9), st.lists(st.floats(0.1, 9), min_size=3, max_size=9)
)
def test_a_race_the_other_way_round_has_the_inverse_factor(one: list[float], other: list[float]):
    rows = pd.concat([run("none", [10.0, *one]), run("layer", [10.0, *other])])
    there, back = races.factors(rows)[0], races.factors(rows, "layer", "none")[0]
    assert there * back == pytest.approx(1.0)


def test_the_goal_is_what_both_reach_in_training_and_a_seed_without_a_partner_does_not_race():
    pairs = {0: ([9.0, 7.0, 5.0], [9.0, 5.0, 1.0]), 1: ([9.0, 5.0, 1.0], [9.0, 7.0, 5.0])}
    pairs[2] = [1.0, 2.0], [3.0, 2.0]  # the first one is at its best before training
    rows = [run("none", [3.0, 1.0], seed=3)]
    for seed, (none, layer) in pairs.items():
        rows += [run("none", none, seed=seed), run("layer", layer, seed=seed)]
    factors = races.factors(pd.concat(rows))
    assert factors.dropna().to_dict() == {0: 2.0, 1: 0.5}
    assert list(factors.index) == [0, 1, 2]


def test_a_miss_bounds_the_factor_on_the_side_of_who_misses():
    rows = pd.concat([run("none", [9.0, 8.0, 4.0]), run("layer", [9.0, 8.0, 6.0])])
    table = races.along(rows, count=4)
    reached, last = table.iloc[0], table.iloc[-1]
    assert reached["low"] == reached["high"] == 1.0
    assert (last["low"], last["high"]) == (0.0, 1.0), "no norm arrives at 20, layer norm not by 20"
    other_way = races.along(rows, "layer", "none", count=4).iloc[-1]
    assert (other_way["low"], other_way["high"]) == (1.0, math.inf)


def test_a_miss_stays_in_the_median():
    rows = []
    for seed, at in enumerate((2, 2, 8, 12, 16)):  # layer norm arrives at 40, but for the first seed
        rows.append(run("none", [10.0] + [9.0] * (at - 1) + [5.0], seed=seed))
        rows.append(run("layer", [10.0, 9.0, 9.0, 9.0, 5.0 if seed else 9.0], seed=seed))
    found = races.along(pd.concat(rows)).iloc[-1]
    assert (found["median"], found["missed"]) == (pytest.approx(2.0), 1)
    assert (found["low"], found["high"], found["confidence"]) == (0.0, 4.0, 0.9375)


def test_a_training_loss_counts_for_the_middle_of_its_updates():
    rows = {"norm": "none", "seed": 0, "rate": 0.1, "update": [0, 10, 20], "train_loss": [math.nan, 2.0, 1.0]}
    race = Race("some", lambda rows: rows["train_loss"], 0.1, {})
    assert races.tidy(pd.DataFrame(rows), race)["time"].tolist() == [5.0, 15.0]


def test_the_seed_that_is_judged_has_no_part_in_its_step_size():
    rows = [
        run("layer", [9.0, level], seed=seed, rate=rate)
        for rate, levels in {0.1: (3.0, 1.0, 1.0), 0.2: (0.0, 2.0, math.nan)}.items()
        for seed, level in enumerate(levels)
    ]
    table = pd.concat(rows)
    assert races.own_steps(table, curves.last("level")) == {"layer": {0: 0.1, 1: 0.1, 2: 0.2}}
    kept = races.at_own_steps(table, curves.last("level"))
    assert kept.groupby("seed")["rate"].unique().map(list).to_dict() == {0: [0.1], 1: [0.1], 2: [0.2]}


def test_one_seed_cannot_choose_for_itself():
    with pytest.raises(ValueError, match="'layer' has 1 seeds at each of its step sizes"):
        races.own_steps(run("layer", [2.0, 1.0]), curves.last("level"))
