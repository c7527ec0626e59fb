"""Section 2's small network and its measurements, on generated cases."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

import lnlib
from lnbook.shared import shift


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(600, 12, generator=generator)
    return x, (x[:, 0] * 10).long().clamp(max=9)


def batch(k: int, a: torch.Tensor) -> torch.Tensor:
    return lnlib.batch_norm(a)


def test_an_update_is_one_step_of_gradient_descent_on_the_named_layers_only(cases) -> None:
    network, twin = (shift.Network((12, 8, 8, 10), seed=1) for _ in range(2))
    gradient = torch.autograd.grad(cross_entropy(twin(cases[0])[0], cases[1]), twin.layers[0][0])[0]
    network.update(*cases, 0.5, layers=slice(1))
    torch.testing.assert_close(network.layers[0][0], twin.layers[0][0] - 0.5 * gradient)
    for mine, its in zip(network.layers[1:], twin.layers[1:], strict=True):
        assert all(torch.equal(p, q) for p, q in zip(mine, its, strict=True))


def test_batch_norm_holds_the_mean_where_its_bias_is(cases) -> None:
    plain, normalized = (shift.train(cases, 0, f, rate=0.1, updates=30, units=16) for f in (None, batch))
    assert normalized.shift < 0.2 * plain.shift
    np.testing.assert_allclose(normalized.mean[-1], normalized.network.layers[1][1].detach(), atol=1e-5)


def test_compare_keeps_the_best_rate_and_never_one_that_diverges(cases) -> None:
    found = shift.compare(
        cases, {"plain": lambda s: None}, seeds=(0, 1), rates=(1e-6, 0.1, 1e4), updates=30, units=16
    )
    assert found["plain"].rate == 0.1
    assert found["plain"].curve.shape == (30,)
    assert found["plain"].loss.shape == found["plain"].shift.shape == (2,)


def test_the_path_ends_where_the_loss_reaches_the_goal() -> None:
    loss = np.array([4.0, 3.0, 2.0, 1.0, 0.0] * 2)  # windows of 2: means 3.5, 2.5, 1.5, 0.5, 2.0, ...
    received = np.full((10, 2, 2, 3), 2.0)
    received[:, 1, 0] = np.cumsum(np.ones((10, 3)), axis=0)  # one unit of length an update
    run = shift.Run(loss, received, shift.Network((4, 3, 10), seed=0))
    assert run.path(1.5) == pytest.approx(3 / 2)  # three moves between four updates
    assert run.path(-1.0) == pytest.approx(9 / 2)  # never reached: all of it
    assert run.path(9.0) < run.path(1.5)
