"""Networks whose weights have no visible length: their optimizer and its decay."""

import math

import torch

from lnbook.pages.beyond_learning_rates.walks import (
    Setting,
    begin,
    digits,
    length,
    polar,
    seen,
    slopes,
    train,
)
from lnbook.training import generators


def test_the_first_update_is_adamws():
    x, y = digits(30)
    walk = train(
        [Setting(1, 0.01, 0.5, momentum) for momentum in (0.0, 0.9)], x, y[None], updates=1, layers=(8,)
    )
    (W,), readout = begin([1], x.shape[1], (8,))
    drawn = torch.randint(30, (32,), generator=generators(1)[1])
    _, (G,) = slopes([W], readout, x[drawn][None], y[drawn][None])
    for beta1, found in zip((0.0, 0.9), walk.length[:, 0, 0], strict=True):
        other = torch.nn.Parameter(W.clone())
        other.grad = G
        torch.optim.AdamW([other], lr=0.01, weight_decay=0.5, betas=(beta1, 0.99)).step()
        # float32; Adam's epsilon counts where a gradient is as small
        assert math.isclose(float(length(seen(other.detach()))), float(found), rel_tol=1e-5)


def test_an_orthogonalized_step_is_the_polar_part_of_the_gradient_and_as_long_as_the_root_of_its_rank():
    x, y = digits(30)
    walk = train([Setting(1, 0.01, orthogonal=True)], x, y[None], updates=1, layers=(8,))
    (W,), readout = begin([1], x.shape[1], (8,), torch.float64)
    drawn = torch.randint(30, (32,), generator=generators(1)[1])
    _, (G,) = slopes([W], readout, x[drawn][None].double(), y[drawn][None])
    step = polar(G)
    rank = int(torch.linalg.matrix_rank(G[0]))
    assert rank <= 7  # layer norm of eight units
    assert math.isclose(float(length(step)) ** 2, rank, rel_tol=1e-9)
    assert math.isclose(float((step * G).sum()), float(torch.linalg.matrix_norm(G, "nuc")), rel_tol=1e-9)
    # the run is in float32
    after = length(seen(W - 0.01 * step))
    assert math.isclose(float(after), float(walk.length[0, 0, 0]), rel_tol=1e-5)
