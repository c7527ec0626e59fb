"""How long open runs will take, and which of them fit into the time there is.

The estimate for a run is the median of the runs that differ from it only in the seed: those finished or begun
here, itself included, or else those recorded. Only runs at the same precision and on the same kind of device
count. A run about which nothing is known is timed: `lnbook.training.pace`.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import torch

from lnbook.cli.open_runs import OpenRun, Scope
from lnbook.training.checkpoint import RunFolder
from lnbook.training.gather import collect
from lnbook.training.pace import timed
from lnbook.training.runs import label
from lnbook.training.task import Job, Machine

__all__ = ["Estimates", "fitting"]

ENOUGH = 0.9  # of the time: for the rest no further run is timed
Run = TypeVar("Run")
Key = tuple[str, str, tuple[tuple[str, str], ...]]
Seconds = dict[Key, list[float]]


class Estimates:
    """The seconds that runs take on a machine.

    Args:
        machine: where they are to run.
        say: called with a line before a run is timed.
    """

    def __init__(self, machine: Machine, say: Callable[[str], object]) -> None:
        self.machine, self.say = machine, say
        self.known: dict[Key, float] = {}
        self.shares: dict[Path, float] = {}  # by a begun run's folder: how much of it is done

    def __call__(self, run: OpenRun) -> float:
        """Seconds until a run is done."""
        key = _like(run.scope, run.job)
        if key not in self.known:
            self.say(f"{run.scope.name}: timing a few updates of {label(run.job)}")
            task = run.scope.experiment.task(run.job, run.scope.scale, self.machine)
            self.known[key] = timed(task, self.machine)
        return self.known[key] * (1 - self.shares.get(run.path, 0.0))

    def learn(self, scopes: Iterable[Scope]) -> None:
        """Learn from what the records and folders now hold."""
        for scope in scopes:
            for key, seconds in (self._recorded(scope) | self._made(scope)).items():
                self.known[key] = median(seconds)

    def _recorded(self, scope: Scope) -> Seconds:
        found: Seconds = {}
        for outcome in scope.recorded:
            if self._alike(outcome.facts):
                found.setdefault(_like(scope, outcome.job), []).append(outcome.facts["seconds"])
        return found

    def _made(self, scope: Scope) -> Seconds:
        """The seconds of runs done here, and of those under way, at their pace so far."""
        found: Seconds = {}
        done, _ = collect(scope.folder, scope.jobs)
        for outcome in done:
            if self._alike(outcome.facts) and not outcome.failed:
                found.setdefault(_like(scope, outcome.job), []).append(outcome.facts["seconds"])
        finished = [outcome.job for outcome in done]
        for job in scope.jobs:
            path = scope.folder / label(job)
            state = None if job in finished else RunFolder.peek(path)
            if state and state["update"]:
                self.shares[path] = share = state["update"] / state["updates"]
                if any(map(self._alike, RunFolder.sessions(path)[-1:])):
                    found.setdefault(_like(scope, job), []).append(state["wall_seconds"] / share)
        return found

    def _alike(self, facts: Mapping[str, Any]) -> bool:
        """Whether a run computed on the same kind of device and at the same precision."""
        kind = torch.device(facts["machine"]).type
        theirs = kind, facts["dtype"], facts["autocast"]
        return theirs == (self.machine.device.type, str(self.machine.dtype), str(self.machine.autocast))


def _like(scope: Scope, job: Job) -> Key:
    settings = sorted((key, str(value)) for key, value in job.items() if key != "seed")
    return scope.experiment.name, scope.scale, tuple(settings)


def fitting(
    runs: Sequence[Run], seconds: Callable[[Run], float], processes: int, budget: float
) -> tuple[list[Run], list[Run]]:
    """The runs that fit into a time, and those that fill the rest of it without finishing.

    Each process takes the next run when it is free. A run that would not finish in time is passed over. In
    the end, each process that becomes free before time is up takes one of these, the first of them first.

    Args:
        runs: in order.
        seconds: how long a run takes; asked only for runs that may still fit.
        processes: how many runs at a time.
        budget: the time, in seconds.

    >>> fitting(["a", "b", "c", "d"], {"a": 50, "b": 20, "c": 15, "d": 90}.__getitem__, 1, 40)
    (['b', 'c'], ['a'])
    """
    free = [0.0] * processes  # when each process will be
    taken: list[Run] = []
    left: list[Run] = []
    for number, run in enumerate(runs):
        start = free[0]
        if start > ENOUGH * budget:
            left += runs[number:]
            break
        if start + (length := seconds(run)) <= budget:
            heapq.heapreplace(free, start + length)
            taken.append(run)
        else:
            left.append(run)
    return taken, left[: sum(start < budget for start in free)]
