"""Stacks of blocks before training: what they add, and how far a step moves them, against what is derived."""

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_depth import stacks
from lnlib.norms import layer_norm


def norm(x):
    return layer_norm(x, eps=0.0)


def before(x, F, k, L):
    return x + F(norm(x))


def after(x, F, k, L):
    return norm(x + F(x))


def test_streams_number_the_blocks_and_can_leave_one_out():
    weights = stacks.draw(3, 4, torch.Generator().manual_seed(0))
    x = torch.ones(2, 4, dtype=torch.float64)
    found = stacks.streams(lambda x, F, k, L: k / L * x + F(x), weights, x, without=2)
    assert torch.equal(found[1], found[2])
    assert torch.equal(found[3], found[2] + stacks.branch(weights[2])(found[2]))  # block 3 of 3


def test_pre_norm_adds_one_to_the_mean_square_for_each_block():
    found = stacks.added(before, 8, 64, range(12)).mean(0)
    # 12 networks of 64 units: the mean of the first block scatters by 0.06, relative
    assert found / np.arange(1, 9) == pytest.approx(1, abs=0.2)


def test_a_step_moves_one_block_as_its_derivative_says():
    """Of y = x + F(x): h h^T r for W2, and W2 D W2^T r |x|^2 for W1, with D the active units."""
    found = stacks.step_change(lambda x, F, k, L: x + F(x), 1, 8, (3,), rate=1e-6)
    generator = torch.Generator().manual_seed(3)
    x, r = (norm(torch.randn(1, 8, generator=generator, dtype=torch.float64))[0] for _ in range(2))
    ((W1, W2),) = stacks.draw(1, 8, generator)
    r, h = r / r.norm(), (W1 @ x).relu()
    change = h.square().sum() * r + (W2[:, h > 0] @ W2[:, h > 0].T @ r) * x.square().sum()
    assert found.item() == pytest.approx(float(change.norm()), rel=1e-3)  # a step of 1e-6 is not 0


def test_deepnorm_holds_the_step_and_post_norm_lets_it_grow():
    def deepnorm(x, F, k, L):
        return norm(L**0.25 * x + F(x))

    depths, growth = (8, 32), {}
    growth["after"] = [stacks.step_change(after, L, 32, range(6)).mean() for L in depths]
    sizes = [(4 * L) ** -0.25 for L in depths]
    pairs = zip(depths, sizes, strict=True)
    growth["deep"] = [stacks.step_change(deepnorm, L, 32, range(6), size=s).mean() for L, s in pairs]
    assert growth["after"][1] > 2 * growth["after"][0]  # four times the blocks
    assert growth["deep"][1] < 1.3 * growth["deep"][0]
    # 2.25 H: (4 + 1/2) H for each of L blocks, times beta^2 / alpha^2 = 1 / (2 L)
    assert growth["deep"][1] == pytest.approx(2.25 * 32, rel=0.2)
