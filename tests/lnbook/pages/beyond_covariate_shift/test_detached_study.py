"""The study of detached statistics: who is judged at which step size, and what a factor is."""

import numpy as np

from lnbook import data
from lnbook.pages.beyond_covariate_shift import twins
from lnbook.pages.beyond_covariate_shift.study import study, switched

PLACE = (2, 1.0)


def test_switching_to_the_same_method_is_training_with_it() -> None:
    arrays = twins.pictures(data.load("digits"), 200)
    options = {"rates": (1e-2,), "seeds": (0, 1), "updates": 10}
    runs = study(arrays, {PLACE: ("simple",)}, units=8, processes=1, **options)
    same = switched(arrays, "simple", "simple", hidden=(8, 8), **options)
    np.testing.assert_allclose(np.exp(same), runs.best(PLACE, "simple"), rtol=1e-4)  # float32
    other = switched(arrays, "both detached", "simple", hidden=(8, 8), **options)
    assert np.abs(other - same).min() > 1e-4
