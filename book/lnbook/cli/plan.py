"""`python -m lnbook run --plan`: make the runs that the record lacks, of all experiments, until time is up.

A run of scale "paper" or "study" is open if it is neither in `book/results/` nor finished here
(`lnbook.cli.open_runs`). The decisions made here, and why:

- *How long a run takes* is unknown on a new machine. It is estimated (`lnbook.cli.estimates`) from runs that
  differ only in the seed, made here or recorded; if there are none, a few updates are timed. A wrong estimate
  costs nothing: the deadline stops runs in any case, and if all finish early, the rest is planned again.
- *The biggest question first*: the order is a table that anyone may change, `lnbook.cli.questions`.
- *A run that does not fit* waits for those that do. When no more fit, the first of the others fill the time
  that is left: every run has checkpoints, and the next such command goes on with it.
- *At the deadline* each run under way finishes its update and writes a checkpoint. The command says what is
  unfinished and how to go on, and exits with 0, since it did what was asked.
- *The record* of an experiment at one scale is written when all its runs are there, new ones beside recorded
  ones, provided that they read the same data and computed at the same precision.
"""

import argparse
import math
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from lnbook.cli import options
from lnbook.cli.begin import prepare
from lnbook.cli.closing import failures, gathered, say
from lnbook.cli.estimates import Estimates, fitting
from lnbook.cli.open_runs import OpenRun, Scope, open_runs, scopes
from lnbook.cli.options import UsageError
from lnbook.cli.recording import joined, record
from lnbook.training.deadline import Deadline
from lnbook.training.gather import collect
from lnbook.training.identity import contents
from lnbook.training.report import differing, title
from lnbook.training.runs import Outcome, Plan, attempt, unfinished
from lnbook.training.sweeps import cores, sweep, torch_threads, wanted
from lnbook.training.task import Experiment, Machine

__all__ = ["plan"]

COMMAND = ("python", "-m", "lnbook", "run")
MACHINE = ("every", "device", "dtype", "autocast", "threads")  # options that every listed command gets


def plan(
    asked: argparse.Namespace,
    argv: Sequence[str],
    experiments: Sequence[Experiment],
    book: Path | None,
    clock: Callable[[], float],
) -> int:
    """Make the open runs until time is up, or print them as commands with `--list`; returns the exit status.

    Args:
        asked, argv: the options, and the words that they were read from.
        experiments: all experiments.
        book: the folder with `results/`, the record; None if there is no checkout.
        clock: in seconds, as `Deadline` takes it.

    Raises:
        UsageError: there is no such device, or the record cannot be read.
        CheckpointError: a run to go on with, or to put beside others, has become a different run.
    """
    if asked.record and book is None:
        raise UsageError("No checkout here: --record keeps rows in the repository's book/results/.")
    deadline = Deadline(clock() + 60 * asked.minutes if asked.minutes else math.inf, clock)
    machine = options.machine(asked)
    try:
        found, none = scopes(experiments, asked.out, book / "results" if book else None, asked.seed)
    except ValueError as error:
        raise UsageError(error) from None
    _, without = open_runs(found)
    for line in [*none, *without]:
        say(line)
    work = _Work(found, asked, machine, deadline, Estimates(machine, say))
    if asked.list:
        return _list(work)
    made = [] if asked.gather else _train(work)
    status = max((_close(scope, asked, book) for scope in found), default=0)
    _say_unfinished(found, argv)
    return max(failures(made), status)


@dataclass(frozen=True)
class _Work:
    """What a plan works on, and what it may use."""

    scopes: Sequence[Scope]
    asked: argparse.Namespace
    machine: Machine
    deadline: Deadline
    estimates: Estimates

    @property
    def processes(self) -> int:
        """How many runs to make at a time."""
        if self.machine.device.type == "cuda":
            return self.asked.processes or 1
        return self.asked.processes or max(1, cores() // self.asked.threads)

    def chosen(self, tried: Collection[Path]) -> tuple[list[OpenRun], list[OpenRun]]:
        """What to run now, without the runs already tried: those that fit, then those that fill the time."""
        runs = [run for run in open_runs(self.scopes)[0] if run.path not in tried]
        if math.isinf(self.deadline.at):
            return runs, []
        self.estimates.learn(self.scopes)
        with torch_threads(self.asked.threads):
            return fitting(runs, self.estimates, self.processes, self.deadline.left)


def _train(work: _Work) -> list[Outcome]:
    """Make the chosen runs, and choose again if there is time left when they are done."""
    tried: set[Path] = set()
    made: list[Outcome] = []
    while not work.deadline.passed():
        taken, cut = work.chosen(tried)
        if not (runs := taken + cut):
            break
        fit = f" that fit into {work.deadline.left / 60:.0f} minutes" if work.asked.minutes else ""
        more = f", then {len(cut)} that will go on later" if cut else ""
        say(f"{len(taken)} runs{fit}{more}: {'; '.join(dict.fromkeys(run.scope.name for run in runs))}")
        plans = {scope.name: _prepared(scope, runs, work) for scope in work.scopes}
        jobs = [{"plan": plans[run.scope.name], "job": run.job} for run in runs]
        made += sweep(attempt, jobs, processes=work.processes, threads=work.asked.threads)
        tried |= {run.path for run in runs}
    return made


def _prepared(scope: Scope, runs: Sequence[OpenRun], work: _Work) -> Plan:
    """The plan that the runs of this scope share, after a check that they can go on."""
    asked, jobs, bar = work.asked, [run.job for run in runs if run.scope is scope], wanted(None)
    if jobs:
        going_on = argparse.Namespace(**vars(asked) | {"scale": scope.scale, "resume": True})
        prepare(scope.experiment, scope.jobs, jobs, work.machine, scope.folder, going_on)
    return Plan(
        scope.experiment,
        scope.scale,
        work.machine,
        scope.folder,
        asked.every,
        bar,
        not bar,
        differing(scope.jobs),
        f"{scope.experiment.name} {scope.scale} ",
        changed_code="changed-code" in asked.accept,
        content=contents(scope.experiment, jobs, scope.scale),
        deadline=work.deadline,
    )


def _close(scope: Scope, asked: argparse.Namespace, book: Path | None) -> int:
    """Gather a scope's rows if the record lacks any of them, and record them if asked to."""
    recorded = [run.job for run in scope.recorded]
    if all(run.job in recorded for run in collect(scope.folder, scope.jobs)[0]):
        return 0
    print(f"\n{scope.name}")
    new, status = gathered(scope.experiment, scope.jobs, scope.scale, scope.folder, scope.results)
    if not (asked.record and book):
        return status
    try:
        runs = joined(scope.jobs, new, scope.recorded)
        if len(runs) < len(scope.jobs) and "partial" not in asked.accept:
            print(f"Nothing is recorded until all runs are there: {len(runs)} of {len(scope.jobs)} by now")
            return status
        path = record(scope.experiment, runs, len(scope.jobs), scope.scale, book / "results", asked.accept)
    except UsageError as error:
        return say(error, 2)
    print(f"They are recorded in {path}, beside {len(runs) - len(new)} recorded before")
    return status


def _say_unfinished(found: Sequence[Scope], argv: Sequence[str]) -> None:
    left, _ = open_runs(found)
    if not left:
        print("Nothing is left to run.")
        return
    begun = [(run, stands) for run in left if (stands := unfinished(run.path, run.job))]
    for run, stands in begun:
        told = title(run.job, differing(run.scope.jobs))
        print(f"{run.scope.experiment.name} {run.scope.scale} {told}: {stands.facts['unfinished']}")
    again = shlex.join([*COMMAND, *(word for word in argv if word != "--gather")])
    print(f"{len(left)} runs are unfinished, {len(begun)} of them begun. Go on with: {again}")


def _list(work: _Work) -> int:
    """Print commands that together do what the plan would do; the last one gathers."""
    asked = work.asked
    usual = vars(options.parser().parse_args(["--plan"]))
    same = [word for name in MACHINE for word in _option(name, getattr(asked, name), usual[name])]
    accepted = [word for what in asked.accept for word in ("--accept", what)]
    taken, cut = work.chosen(())
    for run in taken + cut:
        scope = run.scope
        words = [
            *COMMAND,
            scope.experiment.name,
            "--scale",
            scope.scale,
            "--job",
            str(run.number),
            "--resume",
        ]
        words += _option("seed", scope.seed, 0)
        words += _option("out", asked.out and asked.out / scope.scale, None)
        told = title(run.job, differing(scope.jobs))
        if run in cut:
            told += ", does not fit"
        elif asked.minutes:
            told += f", about {work.estimates(run) / 60:.0f} minutes"
        print(f"{shlex.join([*words, *same, *accepted])}  # {told}")
    words = [*COMMAND, "--plan", "--gather", *(["--record"] if asked.record else []), *accepted]
    words += [*_option("seed", asked.seed, 0), *_option("out", asked.out, None)]
    print(f"{shlex.join(words)}  # when all are done")
    return 0


def _option(name: str, value: object, usual: object) -> list[str]:
    return [] if value in (None, usual) else [f"--{name}", str(value)]
