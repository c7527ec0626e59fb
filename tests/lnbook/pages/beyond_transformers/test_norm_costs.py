"""The clock of the norms, on a clock of ours."""

from itertools import count

import numpy as np
from torch import nn

from lnbook.pages.beyond_transformers import norm_costs


def test_every_norm_has_its_turn_and_the_first_two_rounds_are_not_counted():
    ticks = count()
    norms = {"one": nn.LayerNorm(4), "two": nn.Tanh()}
    found = norm_costs.seconds(norms, 3, 4, rounds=5, clock=lambda: float(next(ticks)))
    np.testing.assert_array_equal(found["one"], np.ones(5))
    np.testing.assert_array_equal(found["two"], np.ones(5))
    assert next(ticks) == 2 * 2 * 7  # two readings, two norms, seven rounds


def test_parameters_keep_no_gradient_of_it():
    norm = nn.LayerNorm(4)
    norm_costs.seconds({"layer": norm}, 3, 4, rounds=1)
    assert norm.weight.grad is None
