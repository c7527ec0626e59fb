"""Networks whose weights have no visible length: identities step by step, and the optimizers."""

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_learning_rates import walks
from lnbook.pages.beyond_learning_rates.walks import Setting, length, seen
from lnbook.training import generators


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, 12, generator=generator)
    return x, (2 * x[:, 0] + 5).round().clamp(0, 9).long()


def test_a_step_at_a_right_angle_sets_the_growth_of_the_squared_norm_and_the_angle(cases) -> None:
    walk = walks.descend(cases, 0, rate=0.5, updates=40)
    off = np.diff(walk.length**2) - (0.5 * walk.gradient[:-1]) ** 2
    # float32 norms, squared: their difference carries a few roundings of the norms themselves
    np.testing.assert_allclose(off, 0, atol=3e-6 * walk.length[0] ** 2)
    expected = np.arctan(0.5 / walk.length**2 * walk.gradient * walk.length)  # the effective rate
    # angles of float32 arrays: a rounding of 1e-7 at each of 1200 entries
    np.testing.assert_allclose(walk.angle, expected, rtol=1e-3, atol=1e-5)


def test_brakes_hold_the_norm_where_the_free_run_begins_and_where_it_ends(cases) -> None:
    free, first, last = (rates[1][1] for rates in walks.brakes(cases, (0.1, 1.0), [0, 1], 60).values())
    assert (free.length[0] / free.length[-1]) ** 2 < 0.99
    for held, end in ((first, 0), (last, -1)):
        np.testing.assert_allclose(held.length, free.length[end], rtol=1e-5)  # float32 norms
        assert held.loss[0] == pytest.approx(free.loss[0], rel=1e-5)  # the same weights and cases


def test_the_first_update_is_adamws_or_along_the_polar_part_of_the_gradient() -> None:
    x, y = walks.digits(30)
    (W,), readout = walks.begin([1], x.shape[1], (8,), torch.float64)
    drawn = torch.randint(30, (32,), generator=generators(1)[1])
    _, (G,) = walks.slopes([W], readout, x[drawn][None].double(), y[drawn][None])
    step = walks.polar(G)
    rank = int(torch.linalg.matrix_rank(G[0]))
    assert rank <= 7  # layer norm of eight units
    assert float(length(step)) ** 2 == pytest.approx(rank, rel=1e-9)
    assert float((step * G).sum()) == pytest.approx(float(torch.linalg.matrix_norm(G, "nuc")), rel=1e-9)
    ends = {(0.0, True): 0.995 * W - 0.01 * step}
    for momentum in (0.0, 0.9):
        other = torch.nn.Parameter(W.clone())
        other.grad = G
        torch.optim.AdamW([other], lr=0.01, weight_decay=0.5, betas=(momentum, 0.99)).step()
        ends[momentum, False] = other.detach()
    for (momentum, orthogonal), end in ends.items():
        setting = Setting(1, 0.01, 0.5, momentum)
        walk = walks.train([setting], x, y[None], updates=1, layers=(8,), orthogonal=orthogonal)
        # the run is in float32; Adam's epsilon counts where a gradient is as small
        assert float(walk.length[0, 0, 0]) == pytest.approx(float(length(seen(end))), rel=1e-5)
