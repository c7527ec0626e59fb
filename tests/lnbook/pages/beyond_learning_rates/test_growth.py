"""Gradient descent on normalized weights: its identities step by step, and where it is held."""

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_learning_rates import walks


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, 12, generator=generator)
    return x, (2 * x[:, 0] + 5).round().clamp(0, 9).long()


def test_a_step_at_a_right_angle_sets_the_growth_of_the_squared_norm_and_the_angle(cases) -> None:
    walk = walks.descend(cases, 0, rate=0.5, updates=40, units=16)
    off = np.diff(walk.length**2) - (0.5 * walk.gradient[:-1]) ** 2
    # float32 norms, squared: their difference carries a few roundings of the norms themselves
    np.testing.assert_allclose(off, 0, atol=3e-6 * walk.length[0] ** 2)
    expected = np.arctan(0.5 / walk.length**2 * walk.gradient * walk.length)  # the effective rate
    # angles of float32 arrays: a rounding of 1e-7 at each of 192 entries
    np.testing.assert_allclose(walk.angle, expected, rtol=1e-3, atol=1e-5)


def test_a_gradient_is_perpendicular_to_weights_of_the_methods_that_do_not_see_their_length(cases) -> None:
    has = {"row": {"batch", "weight"}, "matrix": {"batch", "weight", "layer"}, "mean row": {"layer"}}
    for method in ("none", "batch", "weight", "layer"):
        W, G = walks.first_gradient(method, cases, 0, 1.0)
        assert float(W.norm()) == pytest.approx(1)
        found = {
            "row": ((W * G).sum(1) / (W.norm(dim=1) * G.norm(dim=1))).abs().max(),
            "matrix": (W * G).sum().abs() / (W.norm() * G.norm()),
            "mean row": G.sum(0).abs().max() / G.norm(),
        }
        for key, methods in has.items():
            # float64: exact up to rounding, or off by a visible part
            assert (float(found[key]) < 1e-12) == (method in methods), (key, method)


def test_brakes_hold_the_norm_where_the_free_run_begins_and_where_it_ends(cases) -> None:
    free, first, last = (rates[1][1] for rates in walks.brakes(cases, (0.1, 1.0), [0, 1], 60).values())
    assert (free.length[0] / free.length[-1]) ** 2 < 0.99
    for held, end in ((first, 0), (last, -1)):
        np.testing.assert_allclose(held.length, free.length[end], rtol=1e-5)  # float32 norms
        assert held.loss[0] == pytest.approx(free.loss[0], rel=1e-5)  # the same weights and cases
