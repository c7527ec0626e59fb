"""How long open runs take, judging by runs like them, and which fit into a time."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small import EXPERIMENT, UPDATES, Ticks, jobs

from lnbook.cli.estimates import Estimates, fitting
from lnbook.cli.open_runs import OpenRun, Scope
from lnbook.training import Experiment, Job, Machine, RunFolder, Task
from lnbook.training.deadline import Deadline
from lnbook.training.runs import Outcome, Plan, attempt, label

LAYER, BATCH, NOISY = range(3)  # the first seed's


def recorded(job: Job, seconds: float, **facts: Any) -> Outcome:
    told = {"machine": "cpu", "dtype": "torch.float32", "autocast": "None", "seconds": seconds}
    return Outcome({**job, "seed": 7}, [], told | facts)


def scope(folder: Path, records: Sequence[Outcome] = (), experiment: Experiment = EXPERIMENT) -> Scope:
    return Scope(experiment, "paper", 0, jobs("paper", 0), records, folder, folder)


def made(folder: Path, number: int, updates: float = 1e9) -> Outcome:
    plan = Plan(EXPERIMENT, "paper", Machine(), folder, deadline=Deadline(updates + 1, Ticks()))
    return attempt(plan, job=jobs("paper", 0)[number])


class Estimated:
    """The seconds of the runs of a scope, and what was said."""

    def __init__(self, found: Scope, machine: Machine | None = None) -> None:
        self.said: list[str] = []
        self.scope, self.estimates = found, Estimates(machine or Machine(), self.said.append)
        self.estimates.learn([found])

    def __call__(self, number: int) -> float:
        return self.estimates(OpenRun(self.scope, number, begun=False))


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setenv("FAULT", "none 0")


def test_the_record_tells_by_runs_that_differ_by_the_seed_alone(tmp_path: Path) -> None:
    first = jobs("paper", 0)
    records = [recorded(first[LAYER], seconds) for seconds in (10.0, 30.0, 90.0)]
    seconds = Estimated(scope(tmp_path, [*records, recorded(first[BATCH], 5.0)]))
    assert [seconds(LAYER), seconds(LAYER + 3), seconds(BATCH)] == [30.0, 30.0, 5.0]
    assert not seconds.said
    assert 0 < seconds(NOISY) < 5e5
    assert seconds.said == [f"0.0 small, scale paper: timing a few updates of {label(first[NOISY])}"]
    assert seconds(NOISY + 3) == seconds(NOISY)
    assert len(seconds.said) == 1


@pytest.mark.parametrize(
    "other", [{"machine": "cuda:1"}, {"dtype": "torch.float64"}, {"autocast": "torch.bfloat16"}]
)
def test_runs_on_another_kind_of_device_or_in_other_numbers_tell_nothing(
    tmp_path: Path, other: dict[str, str]
) -> None:
    seconds = Estimated(scope(tmp_path, [recorded(jobs("paper", 0)[LAYER], 1e6, **other)]))
    assert seconds(LAYER) < 1e6
    assert len(seconds.said) == 1


def test_what_was_made_here_counts_before_the_record(tmp_path: Path) -> None:
    done = made(tmp_path, LAYER)
    seconds = Estimated(scope(tmp_path, [recorded(done.job, 1e6)]))
    assert seconds(LAYER + 3) == done.facts["seconds"]


def test_a_run_that_has_begun_takes_what_is_left_of_it_at_its_pace(tmp_path: Path) -> None:
    made(tmp_path, LAYER, updates=10.0)
    kept = RunFolder.peek(tmp_path / label(jobs("paper", 0)[LAYER]))
    assert kept is not None
    whole = kept["wall_seconds"] / kept["update"] * UPDATES
    seconds = Estimated(scope(tmp_path, [recorded(jobs("paper", 0)[LAYER], 1e6)]))
    assert seconds(LAYER) == pytest.approx(whole * 30 / UPDATES)  # rounding
    assert seconds(LAYER + 3) == pytest.approx(whole)
    elsewhere = Estimated(scope(tmp_path), Machine(dtype=torch.float64))
    assert elsewhere(LAYER) == pytest.approx(elsewhere(LAYER + 3) * 30 / UPDATES)
    assert len(elsewhere.said) == 1


def test_timing_leaves_no_file_and_builds_the_task_once(tmp_path: Path) -> None:
    built = []

    def task(job: Job, scale: str, machine: Machine) -> Task:
        built.append(job)
        return EXPERIMENT.task(job, scale, machine)

    seconds = Estimated(scope(tmp_path, experiment=replace(EXPERIMENT, task=task)))
    assert seconds(LAYER) == seconds(LAYER + 3)
    assert built == jobs("paper", 0)[:1]
    assert not list(tmp_path.iterdir())


LENGTH = {"a": 50.0, "b": 20.0, "c": 15.0, "d": 90.0, "e": 5.0}


@pytest.mark.parametrize(
    ("processes", "budget", "fit", "fill"),
    [
        (1, 200.0, "abcde", ""),
        (1, 75.0, "ab", "c"),  # 70 of 75: no run is tried for the rest
        (1, 60.0, "ae", "b"),
        (2, 50.0, "abce", "d"),  # after b, c and e the second process has 10 left
        (1, 4.0, "", "a"),
        (2, 4.0, "", "ab"),
        (3, 1e9, "abcde", ""),
        (1, -1.0, "", ""),
    ],
)
def test_what_fits_comes_first_and_what_does_not_fills_the_time(
    processes: int, budget: float, fit: str, fill: str
) -> None:
    taken, cut = fitting(list("abcde"), LENGTH.__getitem__, processes, budget)
    assert ("".join(taken), "".join(cut)) == (fit, fill)


def test_how_long_is_asked_only_of_what_may_still_fit() -> None:
    asked = []

    def seconds(run: str) -> float:
        asked.append(run)
        return LENGTH[run]

    fitting(list("abcde"), seconds, 1, 50.0)
    assert asked == ["a"]
