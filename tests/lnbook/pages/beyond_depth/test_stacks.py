"""Stacks of blocks before training: what they add, and how far a step moves them, against what is derived."""

import pytest
import torch

from lnbook.pages.beyond_depth import stacks
from lnlib.norms import layer_norm


def norm(x):
    return layer_norm(x, eps=0.0)


def test_a_step_moves_one_block_as_its_derivative_says():
    """Of y = x + F(x): h h^T r for W2, and W2 D W2^T r |x|^2 for W1, with D the active units."""
    found = stacks.step_change(lambda x, F, k, L: x + F(x), 1, 8, (3,), rate=1e-6)
    generator = torch.Generator().manual_seed(3)
    x, r = (norm(torch.randn(1, 8, generator=generator, dtype=torch.float64))[0] for _ in range(2))
    ((W1, W2),) = stacks.draw(1, 8, generator)
    r, h = r / r.norm(), (W1 @ x).relu()
    change = h.square().sum() * r + (W2[:, h > 0] @ W2[:, h > 0].T @ r) * x.square().sum()
    assert found.item() == pytest.approx(float(change.norm()), rel=1e-3)  # a step of 1e-6 is not 0
