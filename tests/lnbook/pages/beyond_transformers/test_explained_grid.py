"""Whether one printed grid is the normalization of another, rounding allowed for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lnbook.pages.beyond_transformers.explained_grid import misfit


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_a_grid_that_is_the_rounded_normalization_fits(seed, axis, correction):
    a = 2 * np.random.default_rng(seed).standard_normal((6, 6))
    normalized = (a - a.mean(axis, keepdims=True)) / a.std(axis, keepdims=True, ddof=correction)
    # the solver's own tolerance is 1e-6
    assert misfit(axis, correction, a.round(1), normalized.round(1)) < 1e-4
