"""What an update costs and where its time goes, on tasks whose costs are known."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import lnlib
from lnbook.shared.steps import costs, turns
from lnbook.shared.steps.profile import PARTS, recurrent, shares
from lnbook.training import Cases, Experiment, Job, LengthBatches, Machine, Minibatches, Task

Forward = Callable[[nn.ModuleDict, Tensor], Tensor]


class Made(Task):
    """A model of named modules, and how they are put together."""

    updates = every = 1
    clip = 1.0

    def __init__(self, modules: Mapping[str, nn.Module], forward: Forward, x: Tensor) -> None:
        generator = torch.Generator().manual_seed(0)
        self.parts = {}
        self.model = nn.ModuleDict(modules)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.normal_(std=0.1, generator=generator)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-6)
        self.batches = Minibatches((x,), len(x), generator)
        self.forward = forward

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Tensor:
        assert isinstance(model, nn.ModuleDict)
        return self.forward(model, cases[0]).square().mean()


class Keep(torch.autograd.Function):
    """Keeps an array for the backward pass, which makes another of its size: two arrays at the peak."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, numbers: int) -> Tensor:
        ctx.save_for_backward(torch.ones(numbers))
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *d: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return d[0] * (kept + 1)[0], None


class Keeping(Made):
    """Keeps so many MB, and takes as many milliseconds of its own clock; half of each sequence is padding."""

    elapsed = 0.0

    def __init__(self, kept: int) -> None:
        def forward(m: nn.ModuleDict, x: Tensor) -> Tensor:
            Keeping.elapsed += kept / 1000
            return Keep.apply(m["scale"](x[:, :1]), kept * 2**20 // 4)

        super().__init__({"scale": nn.Linear(1, 1)}, forward, torch.ones(64, 1))
        lengths, draw = torch.tensor([1, 2]).repeat(32), torch.Generator().manual_seed(0)
        self.batches = LengthBatches((torch.ones(64, 2),), lengths, 64, draw, cut=[0])


def jobs(scale: str, seed: int) -> list[Job]:
    return [{"norm": norm, "kept": kept, "seed": seed} for norm, kept in (("none", 8), ("layer", 64))]


def task_of(job: Job, scale: str, machine: Machine) -> Task:
    return Keeping(job["kept"])


def test_rows_hold_settings_times_ratios_shares_padding_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lnbook.shared.steps.costs.time.process_time", lambda: Keeping.elapsed)
    experiment = Experiment("keeping", jobs, task_of)
    one, other = costs.step_costs(experiment, "smoke", rounds=3, updates=1, memory=True)
    assert (one["norm"], other["norm"], other["kept"]) == ("none", "layer", 64)
    assert (one["ms"], other["ms"]) == (pytest.approx(8), pytest.approx(64))
    assert one["ratio"] == one["ratio_low"] == one["ratio_high"] == 1
    assert other["ratios"] == [other["ratio"]] * 3 == pytest.approx([8] * 3)
    assert sum(other[part] for part in PARTS) == pytest.approx(1)
    assert one["padding"] == pytest.approx(0.25)  # one step of four, as half of the sequences have one of two
    if sys.platform == "linux":
        # What is kept and the scratch of the way back, to what the allocator and the count of pages add.
        assert one["step_mb"] == pytest.approx(2 * 8, abs=2)
        assert other["step_mb"] == pytest.approx(2 * 64, abs=2)
    shown = costs.table([one, other], {"none": "no norm", "layer": "layer norm"})
    assert (shown.header[0], shown.header[2], len(shown.header)) == ("", "Times no norm", 9)
    assert shown.rows[1][:3] == ["layer norm", "64.0", "8.00"]


def test_tasks_take_turns_and_the_first_round_is_not_counted() -> None:
    log: list[str] = []
    tasks = {
        name: Made({"one": nn.Linear(1, 1)}, lambda m, x, name=name: log.append(name) or m["one"](x), x)
        for name, x in {"a": torch.ones(4, 1), "b": torch.ones(4, 1)}.items()
    }
    times = turns.seconds(tasks, rounds=3, updates=2)
    assert log == ["a", "a", "b", "b"] * 4
    assert {name: len(t) for name, t in times.items()} == {"a": 3, "b": 3}
    shown = turns.table(
        {"a": np.array([0.001, 0.002, 0.009]), "b": np.array([0.002, 0.004, 0.009])}, {"a": "A", "b": "B"}
    )
    assert shown.rows == [["A", "2.0", "1.00"], ["B", "4.0", "2.00"]]  # quotients of the same rounds


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_a_large_recurrence_outweighs_a_small_product_and_the_other_way_round(norm: str) -> None:
    def lstm_and_product(units: int, wide: int, steps: int) -> Made:
        def forward(m: nn.ModuleDict, x: Tensor) -> Tensor:
            return m["lstm"](x)[0].mean() + m["square"](torch.ones(4, wide))

        modules = {"lstm": lnlib.LSTM(units, units, norm=norm), "square": nn.Linear(wide, wide)}
        return Made(modules, forward, torch.ones(steps, 4, units))

    large = shares(lstm_and_product(300, 4, steps=100))
    # 100 steps of 720,000 weights, the rest has none of their size; most of it is the way back
    assert large["recurrence"] > 0.6
    small = shares(lstm_and_product(2, 2000, steps=2))
    assert small["recurrence"] < 0.3 < small["products"]


def test_a_loop_over_the_weights_of_a_module_that_is_never_called_belongs_to_its_holder() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(16, 16)

        def forward(self, x: Tensor) -> Tensor:
            return x @ self.lstm.get_parameter("weight_hh_l0")[:16].T

    loop, called = Loop(), nn.GRU(16, 16)
    task = Made(
        {"loop": loop, "gru": called}, lambda m, x: m["loop"](x) + m["gru"](x)[1], torch.ones(9, 2, 16)
    )
    assert recurrent(task, torch.Generator()) == [called, loop]
