"""Residual networks at initialization, against their limit of many units and against plain autograd."""

import math

import numpy as np
import pytest

from lnbook.pages.beyond_transformers import residual_gradients as residual

PLACEMENTS = ("post", "pre", "summed", "output", "none")


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("branch", [0.25, 1.0])
def test_every_block_receives_the_gradient_that_many_units_predict(placement, branch):
    norms = residual.gradient_by_block(placement, 12, 64, range(12), branch=branch)
    limits = [residual.wide_limit(placement, 12, k, 64, branch=branch) for k in range(1, 13)]
    # the mean of 12 networks of 64 units scatters by a few hundredths; over 12 blocks the laws differ by 1.8
    # and more
    assert np.exp(np.log(norms / limits).mean(0)) == pytest.approx(1, abs=0.12)


def change_limit(placement: str, depth: int) -> float:
    """Squared it is O(L) and O(log L), Theorem 2 of Liu et al. (2020)."""
    if placement in ("post", "none"):
        return math.sqrt(depth)
    return math.sqrt(math.fsum(2 / (1 + block) for block in range(1, depth + 1)))


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_random_steps_move_the_output_as_many_units_predict(placement):
    for depth in (1, 8, 16):  # in deep networks all cases become alike, and one network scatters by a fifth
        moved = residual.output_change(placement, depth, 64, range(12)).mean()
        assert moved == pytest.approx(change_limit(placement, depth), rel=0.15)
