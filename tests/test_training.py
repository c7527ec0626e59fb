"""The training loop: seeded, the same on every run and in every process, and honest about failure."""

import copy
import itertools
import math
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from lnlib.training import NonFiniteLoss, cores, fit, generators, minibatches, sweep, torch_threads


def line(seed: int) -> tuple[nn.Module, Iterator[tuple[Tensor, Tensor]], torch.optim.Optimizer]:
    """A linear fit to noisy sums of three inputs."""
    weights, order = generators(seed)
    model = nn.utils.skip_init(nn.Linear, 3, 1)
    for parameter in model.parameters():
        nn.init.normal_(parameter, generator=weights)
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(7))
    batches = minibatches(x, torch.arange(40), 8, order)
    return model, ((a, a.sum(1, keepdim=True)) for a, _ in batches), torch.optim.SGD(model.parameters(), 0.1)


def train(seed: int, updates: int = 25) -> list[dict[str, Any]]:
    """Rows of a short run, without the clock."""
    model, batches, optimizer = line(seed)
    weight = model.get_parameter("weight")
    rows = fit(
        model,
        batches,
        nn.functional.mse_loss,
        optimizer,
        updates=updates,
        device="cpu",
        every=10,
        evaluate=lambda _: {"weight": float(weight.sum())},
    )
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def threads_and_process(offset: int, number: int) -> tuple[int, int, int]:
    return offset + number, torch.get_num_threads(), os.getpid()


def refuse(number: int) -> int:
    if number == 2:
        raise NonFiniteLoss(3, math.nan, 0.5, [])
    return number


def test_rows_stand_before_the_first_update_and_after_the_last() -> None:
    rows = train(0)
    assert [row["update"] for row in rows] == [0, 10, 20, 25]
    assert [row["cases_seen"] for row in rows] == [0, 80, 160, 200]
    assert rows[0]["train_loss"] is None
    assert rows[-1]["train_loss"] < 0.1 * rows[1]["train_loss"]
    assert rows[-1]["weight"] == pytest.approx(3, abs=0.1)


def test_the_recorded_loss_is_the_mean_since_the_row_before() -> None:
    model, batches, optimizer = line(3)
    seen: list[float] = []

    def loss(output: Tensor, target: Tensor) -> Tensor:
        value = nn.functional.mse_loss(output, target)
        seen.append(value.item())
        return value

    rows = fit(model, batches, loss, optimizer, updates=7, device="cpu", every=4)
    assert rows[1]["train_loss"] == pytest.approx(sum(seen[:4]) / 4, rel=1e-12)
    assert rows[2]["train_loss"] == pytest.approx(sum(seen[4:]) / 3, rel=1e-12)


def test_seconds_grow_and_leave_evaluation_out() -> None:
    model, batches, optimizer = line(0)

    def slow(_: nn.Module) -> dict[str, float]:
        time.sleep(0.2)
        return {}

    rows = fit(
        model, batches, nn.functional.mse_loss, optimizer, updates=4, device="cpu", every=1, evaluate=slow
    )
    seconds = [row["seconds"] for row in rows]
    assert seconds[0] == 0
    assert seconds == sorted(seconds)
    assert seconds[-1] < 0.2


def test_evaluation_sees_evaluation_mode_without_gradients_and_training_goes_on_in_training_mode() -> None:
    model, batches, optimizer = line(0)
    modes: list[tuple[bool, bool]] = []

    def evaluate(measured: nn.Module) -> dict[str, float]:
        modes.append((measured.training, torch.is_grad_enabled()))
        return {}

    fit(
        model, batches, nn.functional.mse_loss, optimizer, updates=4, device="cpu", every=2, evaluate=evaluate
    )
    assert modes == [(False, False)] * 3
    assert model.training


def test_one_seed_gives_bit_identical_rows_and_another_seed_does_not() -> None:
    assert train(0) == train(0)
    assert train(0) != train(1)


def test_training_neither_reads_nor_moves_the_global_random_state() -> None:
    torch.manual_seed(1)
    first = train(0)
    after = torch.get_rng_state()
    torch.manual_seed(1)
    assert torch.equal(after, torch.get_rng_state())
    torch.manual_seed(2)
    assert train(0) == first


def test_the_order_of_the_data_does_not_depend_on_how_many_weights_were_drawn() -> None:
    orders = []
    for count in (3, 300):
        weights, order = generators(5)
        torch.randn(count, generator=weights)
        orders.append(torch.randperm(50, generator=order).tolist())
    assert orders[0] == orders[1]


@given(cases=st.integers(1, 40), data=st.data())
def test_an_epoch_visits_no_case_twice_and_omits_only_what_does_not_fill_a_batch(
    cases: int, data: Any
) -> None:
    size = data.draw(st.integers(1, cases))
    batches = minibatches(
        torch.arange(cases) * 10, torch.arange(cases), size, torch.Generator().manual_seed(0)
    )
    for _ in range(3):
        epoch = list(itertools.islice(batches, cases // size))
        seen = torch.cat([y for _, y in epoch])
        assert all(len(x) == size for x, _ in epoch)
        assert len(set(seen.tolist())) == cases // size * size
        assert all(torch.equal(x, 10 * y) for x, y in epoch)


@pytest.mark.parametrize("size", [0, -1, 6])
def test_a_batch_size_that_cannot_be_is_refused_at_once(size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 5 of 5 cases, not {size}"):
        minibatches(torch.zeros(5), torch.zeros(5, dtype=torch.int64), size, torch.Generator())


@pytest.mark.usefixtures("as_users_call")
def test_inputs_and_targets_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(ValueError, match="5 inputs and 4 targets"):
        minibatches(torch.zeros(5), torch.zeros(4, dtype=torch.int64), 2, torch.Generator())


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_and_names_the_update_and_the_last_finite_loss(bad: float) -> None:
    model, batches, optimizer = line(0)
    calls = itertools.count(1)

    def loss(output: Tensor, target: Tensor) -> Tensor:
        return output.sum() * 0 + (bad if next(calls) == 13 else 0.25)

    with pytest.raises(
        NonFiniteLoss, match=rf"became {bad} at update 13; the last finite loss was 0\.25"
    ) as caught:
        fit(model, batches, loss, optimizer, updates=40, device="cpu", every=10)
    assert (caught.value.update, caught.value.last_finite) == (13, 0.25)
    assert [row["update"] for row in caught.value.rows] == [0, 10]


def test_a_loss_that_is_never_finite_says_so() -> None:
    model, batches, optimizer = line(0)
    with pytest.raises(NonFiniteLoss, match="no finite loss before"):
        fit(model, batches, lambda o, t: o.sum() * math.nan, optimizer, updates=1, device="cpu", every=1)


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
    model, batches, optimizer = line(0)
    with pytest.raises(ValueError, match=f"updates = {updates}, every = {every}"):
        fit(model, batches, nn.functional.mse_loss, optimizer, updates=updates, device="cpu", every=every)


def test_the_bar_appears_when_wanted_and_never_off_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    for wanted in (None, False, True):
        model, batches, optimizer = line(0)
        fit(
            model,
            batches,
            nn.functional.mse_loss,
            optimizer,
            updates=3,
            device="cpu",
            every=1,
            progress=wanted,
        )
        out, err = capfd.readouterr()
        assert out == ""
        assert ("update" in err) == (wanted is True)


def test_a_sweep_gives_the_same_in_parallel_and_in_turn_and_in_the_order_of_the_jobs() -> None:
    jobs = [{"seed": seed, "updates": updates} for seed, updates in ((2, 60), (0, 5), (1, 30), (0, 5))]
    alone = sweep(train, jobs, processes=1)
    together = sweep(train, jobs, processes=2)
    assert alone == together
    assert alone[1] == alone[3] == train(0, 5)
    assert [rows[-1]["update"] for rows in together] == [60, 5, 30, 5]


def test_each_job_has_its_share_of_threads_and_the_callers_number_comes_back() -> None:
    before = torch.get_num_threads()
    jobs = [{"number": number} for number in range(3)]
    for processes in (1, 2):
        results = sweep(threads_and_process, jobs, common=(10,), threads=1, processes=processes)
        assert [value for value, _, _ in results] == [10, 11, 12]
        assert {threads for _, threads, _ in results} == {1}
        assert (os.getpid() in {pid for _, _, pid in results}) == (processes == 1)
    assert torch.get_num_threads() == before


def test_threads_come_back_after_an_error() -> None:
    before = torch.get_num_threads()
    seen: list[int] = []

    def fail() -> None:
        with torch_threads(before + 1):
            seen.append(torch.get_num_threads())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [before + 1]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_in_a_job_reaches_the_caller(processes: int) -> None:
    with pytest.raises(NonFiniteLoss, match=r"update 3; the last finite loss was 0\.5"):
        sweep(refuse, [{"number": number} for number in range(4)], processes=processes)


def test_a_sweep_of_nothing_is_nothing() -> None:
    assert sweep(train, []) == []
    assert cores() >= 1
