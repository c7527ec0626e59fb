"""The study of detached statistics: who is judged at which step size, and what a factor is."""

import numpy as np

from lnbook import data
from lnbook.pages.beyond_covariate_shift import twins
from lnbook.pages.beyond_covariate_shift.study import Study, study, switched

PLACE = (2, 1.0)


def made(norms: dict[str, dict[float, list[float]]]) -> Study:
    """A study with these final losses of two starts; a test error is a hundred times the loss."""
    rows = {
        (*PLACE, norm, rate): {"loss": np.array(losses), "error": 100 * np.array(losses)}
        for norm, each in norms.items()
        for rate, losses in each.items()
    }
    return Study((0.1, 0.2), rows)


def test_each_method_is_judged_at_its_own_best_step_size_for_all_starts() -> None:
    simple = {0.1: [3.0, 3.0], 0.2: [1.0, 2.0]}
    found = made({"none": {0.1: [1.0, 1.0], 0.2: [0.1, np.inf]}, "simple": simple})
    np.testing.assert_array_equal(found.best(PLACE, "none"), [1.0, 1.0])  # the other one diverged
    np.testing.assert_array_equal(found.best(PLACE, "simple"), [1.0, 2.0])
    np.testing.assert_array_equal(found.best(PLACE, "simple", "error"), [100, 200])


def test_switching_to_the_same_method_is_training_with_it() -> None:
    arrays = twins.pictures(data.load("digits"), 200)
    options = {"rates": (1e-2,), "seeds": (0, 1), "updates": 10}
    runs = study(arrays, {PLACE: ("simple",)}, units=8, processes=1, **options)
    same = switched(arrays, "simple", "simple", hidden=(8, 8), **options)
    np.testing.assert_allclose(np.exp(same), runs.best(PLACE, "simple"), rtol=1e-4)  # float32
    other = switched(arrays, "both detached", "simple", hidden=(8, 8), **options)
    assert np.abs(other - same).min() > 1e-4
