"""A method's own step size is chosen on the seeds that do not judge it."""

from math import inf, nan

import pytest

from lnbook.shared.own_step import best_elsewhere


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
