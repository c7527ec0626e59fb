"""`python -m lnbook run`: run an experiment, go on with it, or gather what its runs have recorded."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from lnbook.cli import options
from lnbook.cli.begin import places, prepare, refuse_stand_ins
from lnbook.cli.closing import failures, gathered, say
from lnbook.cli.experiments import find
from lnbook.cli.options import UsageError
from lnbook.cli.recording import record
from lnbook.cli.settings import printed
from lnbook.data.datasets import DataError
from lnbook.ledger.rows import book_dir
from lnbook.training.distributed import Group, join
from lnbook.training.errors import CheckpointError, OutputError, ProcessLost, RunBusy
from lnbook.training.identity import contents
from lnbook.training.report import differing
from lnbook.training.runs import Outcome, Plan, jobs_of, label, run, run_one
from lnbook.training.sweeps import torch_threads
from lnbook.training.task import Experiment, Job, Machine

__all__ = ["main"]

INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended


def main(argv: Sequence[str]) -> int:
    """Run an experiment, or a part of it; under `torchrun` in many processes. Returns the exit status.

    `lnbook.__main__` turns SIGTERM and SIGHUP into the KeyboardInterrupt that is caught here.
    """
    asked = options.parser().parse_args(argv)
    try:
        return _run(asked, argv)
    except UsageError as error:
        return say(error, 2)
    except (OutputError, CheckpointError, RunBusy, ProcessLost, DataError) as error:
        return say(error, 1)
    except KeyboardInterrupt as stop:
        return say(f"Interrupted{f': {stop}' if str(stop) else ''}. Go on with --resume.", INTERRUPTED)


def _run(asked: argparse.Namespace, argv: Sequence[str]) -> int:
    options.check(asked)
    try:
        experiment = find(asked.experiment)
    except ValueError as error:
        raise UsageError(error) from None
    if asked.settings:
        print(printed(experiment))
        return 0
    try:
        every = jobs_of(experiment, asked.scale, asked.seed)
    except ValueError as error:
        raise UsageError(error) from None
    jobs = options.chosen(every, asked.only, asked.job)
    if asked.list:
        return _list(jobs, argv)
    if asked.record and book_dir() is None:
        raise UsageError("No checkout here: --record keeps rows in the repository's book/results/.")
    folder, results = places(experiment, asked.scale, asked.out)
    if asked.gather:
        return _report(experiment, every, [], folder, results, asked)
    machine = options.machine(asked)
    with join(machine.device) as group:
        if group.world > 1 and machine.device.type == "cuda":
            machine = replace(machine, device=torch.device("cuda", group.local_rank))
        machine = replace(machine, rank=group.rank, world=group.world)
        if group.first:
            if "stand-in" not in asked.accept:
                refuse_stand_ins(experiment, jobs, asked.scale)
            prepare(experiment, every, jobs, machine, folder, asked)
        group.wait()
        made = _train(experiment, jobs, machine, folder, asked, group, differing(every))
        if not group.first:
            return 0
    if (
        asked.job is not None
    ):  # the other runs of an array go on beside this one: a command of its own gathers
        return failures(made)
    return _report(experiment, every, made, folder, results, asked)


def _list(jobs: Sequence[Job], argv: Sequence[str]) -> int:
    """Commands that together do what this one would have done; the last gathers."""
    command = [
        "python",
        "-m",
        "lnbook",
        "run",
        *(word for word in argv if word not in ("--list", "--resume")),
    ]
    for k, job in enumerate(jobs):
        print(f"{shlex.join([*command, '--job', str(k), '--resume'])}  # {label(job)}")
    print(f"{shlex.join([*command, '--gather'])}  # when all are done")
    return 0


def _train(
    experiment: Experiment,
    jobs: Sequence[Job],
    machine: Machine,
    folder: Path,
    asked: argparse.Namespace,
    group: Group,
    names: Sequence[str],
) -> list[Outcome]:
    if group.world > 1:
        plan = Plan(experiment, asked.scale, machine, folder, asked.every, lines=group.first, names=names)
        content = contents(experiment, jobs, asked.scale) if group.first else {}
        plan = replace(plan, changed_code="changed-code" in asked.accept, content=content)
        with torch_threads(asked.threads):
            return [run_one(plan, job=job, group=group) for job in jobs]
    return run(
        experiment,
        asked.scale,
        asked.seed,
        jobs=jobs,
        machine=machine,
        folder=folder,
        processes=asked.processes or (1 if machine.device.type == "cuda" else None),
        threads=asked.threads,
        every_seconds=asked.every,
        verbose=True,
        changed_code="changed-code" in asked.accept,
    )


def _report(
    experiment: Experiment,
    jobs: Sequence[Job],
    made: Sequence[Outcome],
    folder: Path,
    results: Path,
    asked: argparse.Namespace,
) -> int:
    """Gather what is finished of all runs, also earlier ones; keep it if so asked; say what failed."""
    outcomes, status = gathered(experiment, jobs, asked.scale, folder, results, partial=asked.partial)
    if outcomes and asked.record and (book := book_dir()):
        kept = record(experiment, outcomes, len(jobs), asked.scale, book / "results", asked.accept)
        print(f"They are recorded in {kept}")
    return max(failures(made), status)
