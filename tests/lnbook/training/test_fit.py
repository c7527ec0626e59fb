"""Fitting a model by the way: the loop without an experiment."""

import copy
import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lnbook.training import Minibatches, NonFiniteLoss, fit, generators


def line(seed: int) -> tuple[nn.Module, Iterator[tuple[Tensor, Tensor]], torch.optim.Optimizer]:
    """A linear fit to sums of three inputs."""
    weights, order = generators(seed)
    model = nn.utils.skip_init(nn.Linear, 3, 1)
    for parameter in model.parameters():
        nn.init.normal_(parameter, generator=weights)
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(7))
    batches = ((a, a.sum(1, keepdim=True)) for (a,) in Minibatches((x,), 8, order))
    return model, batches, torch.optim.SGD(model.parameters(), 0.1)


def fitted(seed: int = 0, *, loss: Any = nn.functional.mse_loss, updates: int = 25, **rest: Any) -> Any:
    model, batches, optimizer = line(seed)
    return fit(model, batches, loss, optimizer, **{"updates": updates, "device": "cpu", "every": 10, **rest})


def test_a_line_is_fitted_and_measured() -> None:
    model, batches, optimizer = line(0)
    weight = model.get_parameter("weight")
    rows = fit(
        model,
        batches,
        nn.functional.mse_loss,
        optimizer,
        updates=25,
        device="cpu",
        every=10,
        evaluate=lambda _: {"weight": float(weight.sum())},
    )
    assert [row["update"] for row in rows] == [0, 10, 20, 25]
    assert rows[-1]["train_loss"] < 0.1 * rows[1]["train_loss"]
    assert rows[-1]["weight"] == pytest.approx(3, abs=0.1)  # 25 steps leave some error


def test_the_recorded_loss_is_the_mean_since_the_row_before() -> None:
    seen: list[float] = []

    def loss(output: Tensor, target: Tensor) -> Tensor:
        value = nn.functional.mse_loss(output, target)
        seen.append(value.item())
        return value

    rows = fitted(3, loss=loss, updates=7, every=4)
    assert rows[1]["train_loss"] == pytest.approx(sum(seen[:4]) / 4, rel=1e-12)
    assert rows[2]["train_loss"] == pytest.approx(sum(seen[4:]) / 3, rel=1e-12)


def test_seconds_leave_evaluation_out() -> None:
    def slow(_: nn.Module) -> dict[str, float]:
        time.sleep(0.1)
        return {}

    started = time.perf_counter()
    rows = fitted(updates=4, every=1, evaluate=slow)
    assert rows[0]["seconds"] == 0
    assert rows[-1]["seconds"] < time.perf_counter() - started - 0.5


def test_evaluation_sees_evaluation_mode_without_gradients_and_training_goes_on_in_training_mode() -> None:
    modes: list[tuple[bool, bool]] = []

    def evaluate(measured: nn.Module) -> dict[str, float]:
        modes.append((measured.training, torch.is_grad_enabled()))
        return {}

    fitted(updates=4, every=2, evaluate=evaluate)
    assert modes == [(False, False)] * 3


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_and_names_the_update_and_the_last_finite_loss(bad: float) -> None:
    calls = itertools.count(1)

    def loss(output: Tensor, target: Tensor) -> Tensor:
        return output.sum() * 0 + (bad if next(calls) == 13 else 0.25)

    with pytest.raises(
        NonFiniteLoss, match=rf"became {bad} at update 13; the last finite loss was 0\.25"
    ) as caught:
        fitted(loss=loss, updates=40)
    assert (caught.value.update, caught.value.last_finite) == (13, 0.25)
    assert [row["update"] for row in caught.value.rows] == [0, 10]


def test_a_loss_that_is_never_finite_says_so() -> None:
    with pytest.raises(NonFiniteLoss, match="no finite loss before"):
        fitted(loss=lambda o, t: o.sum() * math.nan, updates=1, every=1)


def test_a_non_finite_loss_crosses_process_borders_whole() -> None:
    error = copy.deepcopy(NonFiniteLoss(3, math.inf, 0.5, [{"update": 0}]))  # by the protocol of pickle
    assert (error.update, error.loss, error.last_finite, error.rows) == (3, math.inf, 0.5, [{"update": 0}])


def test_batches_that_end_too_early_are_an_error_and_no_silent_end_of_a_callers_loop() -> None:
    model, batches, optimizer = line(0)
    few = itertools.islice(batches, 3)
    with pytest.raises(ValueError, match="ended before update 4"):
        fit(model, few, nn.functional.mse_loss, optimizer, updates=5, device="cpu", every=1)


@pytest.mark.parametrize(("updates", "every"), [(0, 1), (1, 0), (-1, 1)])
def test_no_updates_or_no_rows_are_refused(updates: int, every: int) -> None:
    with pytest.raises(ValueError, match=f"updates = {updates}, every = {every}"):
        fitted(updates=updates, every=every)
