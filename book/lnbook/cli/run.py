"""`python -m lnbook run`: run an experiment, go on with it, or gather what its runs have recorded."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from lnbook.cli import options
from lnbook.cli.experiments import find
from lnbook.cli.options import UsageError
from lnbook.cli.records import collect, gather, record, stand_ins, summary
from lnbook.cli.settings import printed
from lnbook.data import DATA_SETS, DataError, content_of, published
from lnbook.ledger.rows import book_dir, results_dir
from lnbook.training.checkpoint import CheckpointError, RunFolder
from lnbook.training.distributed import join
from lnbook.training.runs import Outcome, Plan, jobs_of, label, run, run_one
from lnbook.training.sweeps import torch_threads
from lnbook.training.task import Experiment, Job

__all__ = ["main"]

INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended
REAL = ("study", "paper")  # the scales whose numbers are about the data that they name


def main(argv: Sequence[str]) -> int:
    """Run an experiment, or a part of it; under `torchrun` in many processes. Returns the exit status."""
    try:
        return _run(options.parser().parse_args(argv), argv)
    except UsageError as error:
        return _say(error, 2)
    except (CheckpointError, DataError, OSError, BrokenProcessPool) as error:
        return _say(error, 1)
    except KeyboardInterrupt as stop:
        return _say(f"Interrupted{f': {stop}' if str(stop) else ''}. Go on with --resume.", INTERRUPTED)


def _say(message: object, status: int) -> int:
    print(message, file=sys.stderr)
    return status


def _run(asked: argparse.Namespace, argv: Sequence[str]) -> int:
    try:
        experiment = find(asked.experiment)
        every = jobs_of(experiment, asked.scale, asked.seed)
    except ValueError as error:
        raise UsageError(error) from None
    if asked.settings:
        print(printed(experiment))
        return 0
    jobs = options.chosen(every, asked.only)
    if asked.list:
        words = [word for word in argv if word not in ("--list", "--resume")]
        for job in jobs:
            only = [word for key, value in job.items() for word in ("--only", f"{key}={value}")]
            print(shlex.join(["python", "-m", "lnbook", "run", *words, *only, "--resume"]))
        return 0
    if asked.record and book_dir() is None:
        raise UsageError("No checkout here: --record keeps rows in the repository's book/results/.")
    results = asked.out or results_dir(asked.scale)
    folder = (asked.out or results.parent.parent / "runs" / asked.scale) / experiment.name
    if asked.gather:
        return _report(experiment, every, [], folder, results, asked)
    machine, changed_code = options.machine(asked), "changed-code" in asked.accept
    with join(machine.device) as group:
        if group.first:
            _prepare(experiment, jobs, folder, asked)
        group.wait()
        if group.world == 1:
            made = run(
                experiment,
                asked.scale,
                jobs=jobs,
                machine=machine,
                folder=folder,
                processes=asked.processes or (1 if machine.device.type == "cuda" else None),
                verbose=True,
                changed_code=changed_code,
            )
        else:
            machine = replace(machine, rank=group.rank, world=group.world)
            plan = Plan(experiment, asked.scale, machine, folder, True, changed_code)
            with torch_threads(1):
                made = [run_one(plan, job=job, group=group) for job in jobs]
    return _report(experiment, every, made, folder, results, asked) if group.first else 0


def _prepare(experiment: Experiment, jobs: Sequence[Job], folder: Path, asked: argparse.Namespace) -> None:
    """See that these runs may begin: not over others, and a study not without the data that it names."""
    begun = [path for job in jobs if RunFolder.begun(path := folder / label(job))]
    if begun and not (asked.resume or asked.restart):
        raise UsageError(
            f"{len(begun)} of these runs have begun, {begun[0]} for one. Go on with --resume, begin anew "
            f"with --restart, or give another --out."
        )
    for name in dict.fromkeys(name for job in jobs for name in experiment.data(job, asked.scale)):
        missing = content_of(name) == "stand-in" and "stand-in" not in asked.accept
        if missing and name in DATA_SETS and asked.scale in REAL:
            try:
                published(name, on_stand_in="error")
            except DataError as error:
                raise DataError(
                    f"Scale {asked.scale} of {experiment.name} is about {name}. {error} To run what stands "
                    f"in for it, on purpose, give --accept stand-in, or --scale book."
                ) from None
    for path in begun if asked.restart else ():
        RunFolder.clear(path)


def _report(
    experiment: Experiment,
    jobs: Sequence[Job],
    made: Sequence[Outcome],
    folder: Path,
    results: Path,
    asked: argparse.Namespace,
) -> int:
    """Gather what is finished of all runs, also earlier ones; keep it if so asked; say what failed."""
    outcomes = collect(folder, jobs)
    if outcomes:
        path = gather(experiment.name, outcomes, asked.scale, results)
        if rows := [row for outcome in outcomes if not outcome.failed for row in outcome.rows]:
            print(f"Means over seeds ± half their 95 % intervals\n\n{summary(rows, list(jobs[0]))}\n")
        for line in stand_ins(outcomes):
            print(line, file=sys.stderr)
        print(f"The rows are in {path}")
    done = sum(not outcome.failed for outcome in outcomes)
    print(f"{done} of {len(jobs)} runs are done")
    failed = [outcome for outcome in made if outcome.failed]
    for outcome in failed:
        print(f"{label(outcome.job)}: {outcome.failed}", file=sys.stderr)
    if outcomes and asked.record and (book := book_dir()):
        kept = record(experiment.name, outcomes, len(jobs), asked.scale, book / "results", asked.accept)
        print(f"They are recorded in {kept}")
    return int(bool(failed))
