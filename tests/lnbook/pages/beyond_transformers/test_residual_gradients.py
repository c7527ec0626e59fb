"""Residual networks at initialization, against their limit of many units and against plain autograd."""

import numpy as np
import pytest

from lnbook.pages.beyond_transformers import residual_gradients as residual
from lnbook.pages.beyond_transformers.residual_gradients import PLACEMENTS

DEPTHS = (1, 2, 4, 8, 16)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("branch", [0.25, 1.0])
def test_every_block_receives_the_gradient_that_many_units_predict(placement, branch):
    norms = residual.gradient_by_block(placement, 12, 64, range(12), branch=branch, cases=32)
    limits = [residual.wide_limit(placement, 12, k, 64, branch=branch, cases=32) for k in range(1, 13)]
    # the mean of 12 networks of 64 units scatters by a few hundredths; over 12 blocks the laws differ by 1.8
    # and more
    assert np.exp(np.log(norms / limits).mean(0)) == pytest.approx(1, abs=0.12)


def test_the_last_blocks_gradient_is_flat_in_depth_after_and_falls_like_a_root_before():
    depths = (2, 4, 8, 16, 32)
    after, before = (residual.gradient_by_depth(p, depths, 64, range(10)) for p in ("post", "pre"))
    # each network's power scatters by about 0.05, the mean of ten by 0.015
    assert residual.exponent(depths, after).mean() == pytest.approx(0, abs=0.06)
    assert residual.exponent([1 + L for L in depths], before).mean() == pytest.approx(-0.5, abs=0.06)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_random_steps_move_the_output_as_many_units_predict(placement):
    for depth in (1, 8, 16):  # in deep networks all cases become alike, and one network scatters by a fifth
        moved = residual.output_change(placement, depth, 64, range(12), cases=8).mean()
        assert moved == pytest.approx(residual.change_limit(placement, depth), rel=0.15)


def test_the_last_gradient_is_autograds_of_the_network_written_out():
    x = residual.Stack("pre", 1, 8, cases=3, seed=5)
    W = x.W2[0].detach().requires_grad_()
    stream = x.x + (x.x @ x.W1[0].T).relu() @ W.T  # the cases are normalized already
    centered = stream - stream.mean(-1, keepdim=True)
    y = centered / centered.square().mean(-1, keepdim=True).sqrt()
    ((x.readout * y).sum() / 3).backward()
    found = residual.gradient_by_block("pre", 1, 8, (5,), cases=3)
    assert found.item() == pytest.approx(W.grad.norm().item(), rel=1e-12)  # rounding
