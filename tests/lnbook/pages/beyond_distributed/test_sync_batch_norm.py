"""Synchronized batch norm in two and three real processes, against batch norm in one with all cases."""

import copy
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from lnbook.pages.beyond_distributed.parallel import Processes
from lnbook.pages.beyond_distributed.sync_batch_norm import SyncBatchNorm, standardize_together
from lnbook.training import Group
from lnlib import BatchNorm

# Sums over all cases in another order: a few roundings of float64, in numbers of size 1 to 100.
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def three() -> Iterator[Processes]:
    with closing(Processes(3)) as processes:
        yield processes


def share(group: Group, shares: list[int]) -> slice:
    return slice(sum(shares[: group.rank]), sum(shares[: group.rank + 1]))


def learn(group: Group, x: np.ndarray, shares: list[int], settings: dict[str, Any]) -> list[np.ndarray]:
    """Two passes: output, gradients of the input, gain and bias, running statistics; a share of the cases."""
    mine = torch.from_numpy(x[share(group, shares)]).requires_grad_()
    dtype = mine.dtype
    kind = SyncBatchNorm if group.world > 1 else BatchNorm
    bn = kind(x.shape[1], dtype=dtype, **settings)
    with torch.no_grad():
        for k, p in enumerate(bn.parameters()):
            p.copy_(torch.linspace(0.5, 1.5, p.numel()) - k)
    bn(mine.detach() + 1)
    y = bn(mine)
    (y.sin() * torch.arange(1, x.shape[1] + 1).view(-1, *[1] * (x.ndim - 2))).sum().backward()
    assert mine.grad is not None
    found = [y.detach(), mine.grad, *(group.sum(p.grad) for p in bn.parameters() if p.grad is not None)]
    return [t.numpy() for t in (*found, *bn.buffers())]


def against_one(
    processes: Processes, x: np.ndarray, shares: list[int], precise: dict[str, float] = EXACT, **settings: Any
) -> None:
    whole = learn(Group(), x.astype(np.float64), [len(x)], settings)
    parts = processes.call(learn, x, shares, settings)
    for k, expected in enumerate(whole):
        found = np.concatenate([p[k] for p in parts]) if k < 2 else parts[0][k]
        np.testing.assert_allclose(found, expected, **precise)
        if k >= 2:  # parameters and statistics are the same everywhere
            assert all(np.array_equal(p[k], found) for p in parts)


def cases(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("shape", [(12, 5), (12, 3, 4, 5)])  # positions in space are cases
@pytest.mark.parametrize("shares", [[4, 4, 4], [1, 2, 9], [0, 0, 12]])
def test_any_shares_give_what_one_process_gives(three, shares: list[int], shape: tuple[int, ...]) -> None:
    against_one(three, cases(*shape), shares)


@pytest.mark.parametrize(
    "settings",
    [
        {"affine": False},
        {"track_running_stats": False},
        {"momentum": None},
        {"eps": 0.0},
        {"eps": 0.3, "momentum": 0.4},
    ],
)
def test_every_setting_is_that_of_batch_norm(three: Processes, settings: dict[str, Any]) -> None:
    against_one(three, cases(9, 4), [2, 3, 4], **settings)


def test_means_far_from_zero_cost_no_accuracy_in_float32(three: Processes) -> None:
    x = (1e6 + 10 * cases(60, 5)).astype(np.float32)
    x[:20] += 100  # the processes' own means differ, too
    # outputs of size 3 with roundings of 6e-8; the running averages of size 1e6 in float32 have 0.06
    against_one(three, x, [20, 20, 20], {"rtol": 1e-6, "atol": 1e-4})


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_float32_of_any_size_is_standardized(three: Processes, size: float) -> None:
    x = (size * cases(12, 5)).astype(np.float32)
    parts = three.call(standardized, x, [4, 4, 4])
    exact = x / size
    exact = (exact - exact.mean(0)) / exact.std(0)
    np.testing.assert_allclose(np.concatenate(parts), exact, atol=1e-5)  # 100 roundings


def standardized(group: Group, x: np.ndarray, shares: list[int]) -> np.ndarray:
    return standardize_together(torch.from_numpy(x[share(group, shares)]), eps=0.0).numpy()


def test_equal_values_become_zero_and_nan_stays_in_its_unit(three: Processes) -> None:
    x = cases(12, 3)
    x[:, 0], x[2, 1] = 0.1, np.nan
    y = np.concatenate(three.call(standardized, x, [3, 4, 5]))
    assert (y[:, 0] == 0).all()
    assert np.isnan(y[:, 1]).all()
    assert np.isfinite(y[:, 2]).all()


def test_converting_keeps_parameters_statistics_settings_and_mode() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3, 0.1, None), nn.Sequential(BatchNorm(2), nn.ReLU()))
    before, parameters = copy.deepcopy(model.eval().state_dict()), list(model.parameters())
    made = SyncBatchNorm.convert(model)
    norms = [(m.eps, m.momentum, m.training) for m in made.modules() if type(m) is SyncBatchNorm]
    assert norms == [(0.1, None, False), (1e-5, 0.1, False)]
    assert all(a is b for a, b in zip(parameters, made.parameters(), strict=True))
    assert_close(dict(made.state_dict()), dict(before))
