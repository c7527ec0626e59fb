"""Whether one printed grid is the normalization of another, rounding allowed for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnbook.pages.beyond_transformers.explained_grid import ORIGINAL, SHOWN, misfit


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_a_grid_that_is_the_rounded_normalization_fits(seed, axis, correction):
    a = 2 * np.random.default_rng(seed).standard_normal((6, 6))
    normalized = (a - a.mean(axis, keepdims=True)) / a.std(axis, keepdims=True, ddof=correction)
    # the solver's own tolerance is 1e-6
    assert misfit(axis, correction, a.round(1), normalized.round(1)) < 1e-4


def test_one_wrong_number_is_found():
    a = np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]])
    right = ((a - a.mean()) / a.std()).round(1)
    wrong = right.copy()
    wrong[0, 2] += 0.5
    assert misfit(1, 0, a, right) <= 0 < 0.1 < misfit(1, 0, a, wrong)


def test_the_explainers_grid_is_layer_norm_with_the_biased_variance_and_nothing_else():
    assert misfit(1) <= 1e-6  # the solver's tolerance
    assert misfit(1, correction=1) > 0.02
    assert misfit(0) > 0.5


def test_the_grids_are_four_samples_of_six_features():
    assert ORIGINAL.shape == SHOWN.shape == (4, 6)
    assert pytest.approx(SHOWN.mean(1), abs=0.05) == 0
