"""Networks whose weights have no visible length: what a step, decay and a held length do to them."""

import math

import torch
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_learning_rates.walks import (
    Networks,
    Setting,
    digits,
    length,
    seen,
    tangents,
    train,
)
from lnbook.training import generators

ROUNDING = 1e-13  # of float64 in sums of some hundred terms


def test_slopes_are_those_of_each_network_alone_and_perpendicular_to_its_weights():
    x, y = digits(20)
    cases, labels = x.double().expand(2, -1, -1), y.expand(2, -1)
    both = Networks([1, 2], x.shape[1], layers=(8, 6), dtype=torch.float64)
    losses, slopes = both.slopes(cases, labels)
    alone = Networks([2], x.shape[1], layers=(8, 6), dtype=torch.float64)
    loss, own = alone.slopes(cases[:1], labels[:1])
    assert torch.allclose(losses[1], loss[0], rtol=ROUNDING)
    assert torch.allclose(loss[0], cross_entropy(alone.outputs(alone.weights, cases[:1])[0], y))
    for W, G, g in zip(both.weights, slopes, own, strict=True):
        torch.testing.assert_close(G[1], g[0], rtol=1e-10, atol=1e-14)  # sums in another order
        assert float(((W * G).sum((1, 2)) / (length(W) * length(G)).flatten()).abs().max()) < ROUNDING
        assert float((G.sum(1).abs() / length(G)[:, 0]).max()) < ROUNDING  # the mean row is not seen


def test_tangents_are_those_of_the_angle_also_of_small_ones():
    one = torch.tensor([[[1.0, 0.0]], [[2.0, 0.0]]], dtype=torch.float64)
    two = torch.tensor([[[1.0, 1.0]], [[1.0, 1e-9]]], dtype=torch.float64)
    torch.testing.assert_close(tangents(one, two), torch.tensor([1.0, 1e-9], dtype=torch.float64))


def test_the_first_update_is_adams_and_its_decay_is_where_the_setting_says():
    x, y = digits(30)
    settings = [
        Setting(1, 0.01, 0.5),
        Setting(1, 0.01, 0.5, coupled=True),
        Setting(1, 0.01, 0.5, momentum=0.9),
    ]
    walk = train(settings, x, y[None], updates=1, layers=(8,))
    start = Networks([1], x.shape[1], layers=(8,))
    W = start.weights[0].clone().requires_grad_()
    drawn = torch.randint(30, (32,), generator=generators(1)[1])
    cross_entropy(start.outputs([W], x[drawn][None])[0], y[drawn]).backward()
    for kind, (optimizer, found) in enumerate(
        zip((torch.optim.AdamW, torch.optim.Adam, torch.optim.AdamW), walk.length[:, 0, 0], strict=True)
    ):
        other = torch.nn.Parameter(W.detach().clone())
        other.grad = W.grad
        optimizer([other], lr=0.01, weight_decay=0.5, betas=(0.9 if kind == 2 else 0.0, 0.99)).step()
        # float32; Adam's epsilon counts where a gradient is as small
        assert math.isclose(float(length(seen(other.detach()))), float(found), rel_tol=1e-5)
