"""What timing a few updates of a run does and does not do, and what it makes of the times."""

import math
from collections.abc import Mapping
from types import SimpleNamespace

import pytest
import torch
from small import JOB, Small, Ticks
from torch import Tensor, nn

from lnbook.training import Cases, Machine, loop
from lnbook.training.pace import TIMED, WARM, timed


class Watched(Small):
    """Counts the cases that it measures."""

    measured = 0

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        self.measured += len(cases[0])
        return super().measure(model, cases, noise)


def watched(updates: int, every: int) -> Watched:
    task = Watched(Machine(), **JOB)
    task.updates, task.every = updates, every
    return task


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setenv("FAULT", "none 0")


def test_few_updates_are_made_and_few_cases_measured() -> None:
    task = watched(updates=10**9, every=1)
    assert 0 < timed(task, Machine()) < math.inf
    assert task.calls == WARM + TIMED
    few = 5 + 3  # one evaluation batch of 13 cases, and all 3 of the other part
    assert task.measured == 2 * 2 * few  # before and after the updates, while warm and while timed


def test_updates_and_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on whenever it is read, so that each of them takes a fixed time."""
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=Ticks()))
    base, longer, denser = (timed(watched(*size), Machine()) for size in ((100, 10), (200, 20), (100, 5)))
    update, row = (longer - base) / 100, (denser - base) / 10
    assert update > 0
    assert row > 0
    assert base == pytest.approx(100 * update + 11 * row)  # rounding of sums
    more = watched(100, 10)
    more.parts = {part: tuple(torch.cat([x, x]) for x in cases) for part, cases in more.parts.items()}
    more_cases = {"valid": 26, "test": 6}
    scale = sum(more_cases.values()) / (5 + 5) / ((13 + 3) / (5 + 3))  # against what is measured of them
    assert timed(more, Machine()) == pytest.approx(100 * update + 11 * row * scale)


def test_a_loss_that_is_not_finite_at_once_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "nan 2")
    assert timed(watched(1000, 10), Machine()) == 0.0


def test_measures_of_all_cases_at_once_are_not_timed() -> None:
    class Ranked(Watched):
        def evaluate(self, model: nn.Module, part: str, cases: Cases) -> dict[str, float]:
            raise AssertionError("these cases are no whole part")

    task = Ranked(Machine(), **JOB)
    assert timed(task, Machine()) > 0
    assert task.measured == 0
