"""A method's own step size is chosen on the seeds that do not judge it."""

from math import inf, nan

import pytest

from lnbook.shared.own_step import at_own_steps, at_the_edge, best_elsewhere, by_step


def test_the_seed_that_judges_has_no_part_in_the_choice():
    lowest = {0.1: {0: 0.0, 1: 9.0, 2: 9.0}, 1.0: {0: 8.0, 1: 8.0, 2: 8.0}}
    assert best_elsewhere(lowest)[0] == 1.0  # although seed 0 itself is best with 0.1
    assert best_elsewhere({0.1: {**lowest[0.1], 0: -1e9}, 1.0: lowest[1.0]})[0] == 1.0


@pytest.mark.parametrize("lost", [inf, nan])
def test_a_step_size_at_which_another_run_diverged_is_not_chosen(lost):
    lowest = {0.1: {0: 5.0, 1: 5.0, 2: 5.0}, 1.0: {0: 1.0, 1: 1.0, 2: lost}}
    assert best_elsewhere(lowest) == {0: 0.1, 1: 0.1, 2: 1.0}


@pytest.mark.parametrize("lowest", [{}, {0.1: {0: 1.0}}, {0.1: {0: 1.0, 1: 1.0}, 1.0: {0: 1.0, 2: 1.0}}])
def test_seeds_that_are_few_or_differ_are_refused(lowest):
    with pytest.raises(ValueError, match="the same two or more"):
        best_elsewhere(lowest)


def runs(norm, rate, *losses):
    """A run of two rows for each seed, and the model that validation chose, whose loss is too good."""
    return [
        {"norm": norm, "rate": rate, "seed": seed, "selected": selected, "update": update, "loss": value}
        for seed, loss in enumerate(losses)
        for selected, update, value in ((0, 0, 9.0), (0, 40, loss), (1, 40, -1.0))
    ]


BOTH = [*runs("none", 0.1, 3.0, 1.0, 2.0), *runs("layer", 0.1, 5.0, 5.0, 5.0), *runs("layer", 0.2, 4.0, 4.0)]


def lowest(run):
    return run["loss"].min()


def test_each_seed_keeps_one_run_of_each_norm_with_its_selected_model():
    own = at_own_steps(BOTH, lowest)
    assert own.chosen == {"none": {0: 0.1, 1: 0.1, 2: 0.1}, "layer": {0: 0.2, 1: 0.2}}
    assert own.rows == [*BOTH[:9], *BOTH[-6:]]  # the third seed of layer norm lacks a step size


def test_a_table_has_a_line_for_each_step_size_and_says_who_does_not_arrive():
    factors = {0.1: {0: 2.0, 1: 8.0}, 0.2: {0: 0.0, 1: 1.0}}
    names = {"none": "no norm", "layer": "layer norm"}
    found = by_step(
        BOTH, lowest, lambda rows: factors[rows[0]["rate"]], names, what="Lowest (nats)", form=".1f"
    )
    assert found.header == [
        "Step size",
        "Lowest (nats), no norm",
        "Lowest (nats), layer norm",
        "Factor in updates",
    ]
    first, second = found.rows
    assert first == [
        "0.1",
        "2.0 (3 seeds, no interval)",
        "5.0 (3 seeds, no interval)",
        "4.00 (2 seeds, no interval)",
    ]
    assert second[:3] == ["0.2", "no number", "4.0 (2 seeds, no interval)"]
    assert second[3] == "within 40 updates layer norm misses the goal in 1 of 2 runs"


@pytest.mark.parametrize(
    ("chosen", "who"),
    [
        ({"none": {0: 0.1, 1: 0.1}, "layer": {0: 0.2, 1: 0.2}}, "no norm is at the edge"),
        ({"none": {0: 0.1, 1: 0.2}, "layer": {0: 0.2, 1: 0.3}}, "no norm and layer norm is at the edge"),
    ],
)
def test_a_choice_at_the_edge_is_named(chosen, who):
    told = at_the_edge(chosen, [0.1, 0.2, 0.3], {"none": "no norm", "layer": "layer norm"})
    assert who in told
