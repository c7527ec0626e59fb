"""Synchronized batch norm in three real processes, against batch norm in one with all cases."""

from contextlib import closing

import numpy as np
import pytest
import torch

from lnbook.pages.sec1_introduction.split import Processes, SyncBatchNorm
from lnbook.training import Group
from lnlib import BatchNorm

pytestmark = pytest.mark.slow


def learn(group: Group, x: np.ndarray, shares: list[int]) -> list[np.ndarray]:
    """Output, gradients of the input, of gain and bias; of a share of the cases."""
    first = sum(shares[: group.rank])
    mine = torch.from_numpy(x[first : first + shares[group.rank]]).requires_grad_()
    bn = (SyncBatchNorm if group.world > 1 else BatchNorm)(x.shape[1], dtype=mine.dtype)
    with torch.no_grad():
        for k, p in enumerate((bn.weight, bn.bias)):
            p.copy_(torch.linspace(0.5, 1.5, p.numel()) - k)
    y = bn(mine)
    (y.sin() * torch.arange(1, x.shape[1] + 1)).sum().backward()
    gradients = [group.sum(p.grad) for p in bn.parameters() if p.grad is not None]
    return [t.detach().numpy() for t in (y, mine.grad, *gradients)]


def test_any_shares_give_what_one_process_gives() -> None:
    x = np.random.default_rng(0).normal(size=(12, 5))
    whole = learn(Group(), x, [12])
    with closing(Processes(3)) as processes:
        for shares in ([4, 4, 4], [1, 2, 9]):
            parts = processes.call(learn, x, shares)
            for k, expected in enumerate(whole):
                found = np.concatenate([p[k] for p in parts]) if k < 2 else parts[0][k]
                # sums over all cases in another order: roundings of float64, in numbers of size 1 to 100
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
                if k >= 2:  # gradients of parameters are the same everywhere
                    assert all(np.array_equal(p[k], found) for p in parts)
