"""The training loop: seeded, the same on every run, and honest about what it records."""

import math
import time
from typing import Any

import pytest
import torch
from small import JOB, UPDATES, Small, without_clock
from torch import Tensor, nn

from lnbook.training import Machine, Minibatches, Row, Run, RunFolder, fit, torch_threads, train


def small(dtype: torch.dtype = torch.float32, **settings: Any) -> Small:
    return Small(Machine(dtype=dtype), **{**JOB, **settings})


def fitted(**options: Any) -> list[Row]:
    """A linear fit to sums of three inputs."""
    model = nn.Linear(3, 1)
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(7))
    batches = Minibatches((x, x.sum(1, keepdim=True)), 8, torch.Generator().manual_seed(0))
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    return fit(model, batches, optimizer=sgd, **{"loss": nn.functional.mse_loss, **options})


def test_the_recorded_loss_is_the_mean_since_the_row_before():
    seen: list[float] = []

    def loss(output: Tensor, target: Tensor) -> Tensor:
        value = nn.functional.mse_loss(output, target)
        seen.append(value.item())
        return value

    rows = fitted(loss=loss, updates=7, every=4)
    assert rows[1]["train_loss"] == pytest.approx(sum(seen[:4]) / 4, rel=1e-12)
    assert rows[2]["train_loss"] == pytest.approx(sum(seen[4:]) / 3, rel=1e-12)


def test_seconds_leave_evaluation_out_which_sees_evaluation_mode_without_gradients():
    modes: list[tuple[bool, bool]] = []

    def slow(model: nn.Module) -> dict[str, float]:
        modes.append((model.training, torch.is_grad_enabled()))
        time.sleep(0.1)
        return {}

    started = time.perf_counter()
    rows = fitted(updates=4, every=1, evaluate=slow)
    assert rows[0]["seconds"] == 0
    assert rows[-1]["seconds"] < time.perf_counter() - started - 0.5
    assert modes == [(False, False)] * 5


def test_rows_stand_each_few_updates_and_are_those_of_the_seeds_whatever_the_global_random_state():
    found = []
    for state in (1, 2):
        torch.manual_seed(state)
        before = torch.get_rng_state()
        found.append(train(small()).rows)
        assert torch.equal(before, torch.get_rng_state())
    rows, again = found
    assert [row["update"] for row in rows] == [0, 7, 14, 21, 28, 35, 40]
    assert [row["cases_seen"] for row in rows] == [8 * row["update"] for row in rows]
    assert rows[0]["train_loss"] is None
    assert rows[-1]["train_loss"] < rows[1]["train_loss"]
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert without_clock(rows) == without_clock(again)
    assert without_clock(rows) != without_clock(train(small(seed=1)).rows)
    noisy = train(small(), seed=1).rows
    assert rows[1]["train_loss"] != noisy[1]["train_loss"]
    assert rows[0]["valid_nll"] == noisy[0]["valid_nll"]  # weights and data are the job's


def test_the_measured_noise_is_the_same_at_each_row():
    task = small()
    task.optimizer = torch.optim.SGD(task.model.parameters(), lr=0.0)
    task.model[1].momentum = 0.0  # type: ignore[assignment]  # nor do the running averages move
    rows = train(task).rows
    assert len({row["valid_noisy"] for row in rows}) == 1


def test_parts_are_means_over_all_their_cases_in_chunks_of_any_size():
    means = []
    for size in (1, 5, 13, 100):
        task = small()
        task.evaluation_batch = size
        row = train(task).rows[-1]
        assert (row["valid_cases"], row["test_cases"]) == (13, 3)
        means.append(row["valid_nll"])
    assert means == pytest.approx([means[0]] * 4, rel=1e-6)  # float32 logits in batches of other sizes


def test_the_selected_model_is_the_best_row_measured_on_the_last_parts():
    task = small()
    task.updates = 3 * UPDATES  # until it overfits: in 40 updates the last row may be the best
    run = train(task)
    assert run.selected is not None
    best = min(run.rows, key=lambda row: row["valid_nll"])
    assert best["update"] < task.updates  # the last row is not the best, or this would say nothing
    assert run.selected["update"] == best["update"]
    assert run.selected["valid_nll"] == best["valid_nll"]
    assert ["train_nll" in row for row in (run.selected, best, run.rows[-1])] == [True, False, True]
    assert run.best is not None
    assert not torch.equal(run.best["weights"]["0.weight"], task.model.state_dict()["0.weight"])
    assert task.model.training


def test_any_number_is_better_than_nan():
    run, model = Run(), nn.Linear(1, 1)
    for update, value in enumerate([math.nan, 3.0, math.nan, 2.0, 2.5]):
        run.add({"update": update, "x": value}, "x", model)
    assert run.best is not None
    assert run.best["row"] == {"update": 3, "x": 2.0}


def test_gradients_are_clipped_to_the_norm_that_the_task_asks_for():
    before, after = [], []
    for clip, found in ((None, before), (0.01, after)):
        task = small()
        task.clip, task.optimizer = clip, torch.optim.SGD(task.model.parameters(), lr=0.0)
        train(task)
        found.append(float(nn.utils.get_total_norm([p.grad for p in task.model.parameters()])))
    assert before[0] > 0.02
    assert after == pytest.approx([0.01], rel=1e-3)  # torch divides by the norm + 1e-6


def test_stopped_again_and_again_a_run_gives_the_same_bits(tmp_path, monkeypatch):
    with torch_threads(1):
        expected = train(Small(Machine(), **JOB))
        for stop in (1, 2, 5, 6, 7, 3, 9, UPDATES + 1):  # in, between and at rows and epochs
            monkeypatch.setenv("FAULT", f"stop {stop}")
            task = Small(Machine(), **JOB)
            try:
                with RunFolder(tmp_path, JOB, {}) as folder:
                    found = train(task, folder=folder, every_seconds=0)
            except KeyboardInterrupt:
                continue
    assert without_clock(found.rows) == without_clock(expected.rows)
    assert found.selected is not None
    assert expected.selected is not None
    assert without_clock([found.selected]) == without_clock([expected.selected])
    weights = torch.load(tmp_path / "selected.pt", weights_only=True)
    assert {"1.running_mean", "1.num_batches_tracked"} <= set(weights)
    assert expected.best is not None
    torch.testing.assert_close(weights, expected.best["weights"], rtol=0, atol=0)
    assert task.calls == UPDATES - 26, "all that was done before the stops was kept"
