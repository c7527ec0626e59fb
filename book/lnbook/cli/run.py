"""`python -m lnbook run`: run an experiment, go on with it, record its rows."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import torch

from lnbook.cli.experiments import EXPERIMENTS, find
from lnbook.cli.records import UsageError, gather, record, stand_ins, summary
from lnbook.data import DATA_SETS, DataError, content_of, published
from lnbook.ledger.rows import SCALES, book_dir, results_dir
from lnbook.training.checkpoint import CheckpointError, finished
from lnbook.training.distributed import join
from lnbook.training.runs import jobs_of, label, run
from lnbook.training.task import Experiment, Job, Machine

INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended
REAL = ("study", "paper")  # the scales whose numbers are about the data that they name
NOTES = """
A run that is stopped loses at most its last minute. --resume goes on, and gives the rows of an uninterrupted
run, bit for bit; a run whose settings, data, rules or commit have changed does not go on.
Under torchrun the processes train one model together, run after run.

exit status: 0 done; 1 a run failed; 2 the command cannot be carried out; 130 interrupted; stderr says why
"""


def main(argv: Sequence[str]) -> int:
    """Run an experiment, or a part of it; under `torchrun` in many processes. Returns the exit status."""
    try:
        return _run(_parser().parse_args(argv))
    except (UsageError, CheckpointError, DataError, BrokenProcessPool) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("Interrupted. Go on with --resume.", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    sections = "\n".join(f"  {section}  {name}" for section, name in EXPERIMENTS.items())
    found = argparse.ArgumentParser(
        prog="python -m lnbook run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Run one of the paper's experiments: several seeds of several methods, side by side.",
        epilog=f"experiments:\n{sections}\n{NOTES}",
    )
    add = found.add_argument
    add("experiment", help="section or name: 6.6 or permutation_mnist")
    scales = "smoke: seconds; book (default): minutes; study: hours; paper: the paper's sizes"
    add("--scale", choices=SCALES, default="book", help=scales)
    add("--seed", type=int, default=0, metavar="S", help="the first seed (default 0)")
    add("--only", action="append", default=[], metavar="KEY=VALUE", help="runs with this setting; repeatable")
    add("--out", type=Path, metavar="DIR", help="checkpoints, rows and provenance (default: in _build)")
    add("--resume", action="store_true", help="go on with runs that have begun")
    add("--record", action="store_true", help="keep rows and provenance in book/results/, to be committed")
    anyway = (
        "run scale study or paper on what stands in for its data; record that, only some of the runs, or "
        "code that differs from its commit, as the provenance then says"
    )
    add("--anyway", action="store_true", help=anyway)
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--dtype", choices=["float32", "float64"], default="float32")
    return found


def _run(asked: argparse.Namespace) -> int:
    try:
        experiment = find(asked.experiment)
        every = jobs_of(experiment, asked.scale, asked.seed)
    except ValueError as error:
        raise UsageError(error) from None
    jobs = chosen(every, asked.only)
    book = book_dir()
    if asked.record and book is None:
        raise UsageError("No checkout here: --record keeps rows in the repository's book/results/.")
    results = asked.out or results_dir(asked.scale)
    folder = (asked.out or results.parent.parent / "runs" / asked.scale) / experiment.name
    device = torch.device(asked.device)
    with join(device) as group:
        if group.rank == 0:
            _check(experiment, jobs, folder, asked)
        group.wait()
        machine = Machine(device, getattr(torch, asked.dtype), group)
        alone = 1 if asked.device == "cuda" else None
        common = {"machine": machine, "folder": folder, "processes": alone}
        made = run(experiment, asked.scale, jobs=jobs, verbose=True, **common)
    if group.rank:
        return 0
    outcomes = [outcome for job in every if (outcome := finished(folder / label(job)))]
    if outcomes:
        path = gather(experiment.name, outcomes, asked.scale, results)
        if rows := [row for outcome in outcomes if not outcome.failed for row in outcome.rows]:
            print(f"Means over seeds ± half their 95 % intervals\n\n{summary(rows, [*every[0]])}\n")
        for line in stand_ins(outcomes):
            print(line, file=sys.stderr)
        print(f"The rows are in {path}")
    print(f"{sum(not outcome.failed for outcome in outcomes)} of {len(every)} runs are done")
    failed = [outcome for outcome in made if outcome.failed]
    for outcome in failed:
        print(f"{label(outcome.job)}: {outcome.failed}", file=sys.stderr)
    if outcomes and asked.record and book:
        kept = record(experiment.name, outcomes, len(every), asked.scale, book / "results", asked.anyway)
        print(f"They are recorded in {kept}")
    return int(bool(failed))


def chosen(jobs: Sequence[Job], only: Sequence[str]) -> list[Job]:
    """The jobs that have all these settings; raises `UsageError` if there is none."""
    left = [job for job in jobs if {*only} <= {f"{key}={value}" for key, value in job.items()}]
    if not left:
        known = {key: sorted({str(job[key]) for job in jobs}) for key in jobs[0]}
        raise UsageError(f"No run has {' and '.join(only)}; write KEY=VALUE with one of {known}.")
    return left


def _check(experiment: Experiment, jobs: Sequence[Job], folder: Path, asked: argparse.Namespace) -> None:
    """See that these runs may begin: not over others, and a study not without the data that it names."""
    begun = [path for job in jobs if (path := folder / label(job)).is_dir()]
    if begun and not asked.resume:
        raise UsageError(
            f"{len(begun)} of these runs have begun, {begun[0]} for one. Go on with --resume, give another "
            "--out, or remove their folders to begin anew."
        )
    names = {name for job in jobs for name in experiment.data(job, asked.scale)} & set(DATA_SETS)
    if asked.scale in REAL and not asked.anyway:
        for name in sorted(name for name in names if content_of(name) == "stand-in"):
            try:
                published(name, on_stand_in="error")
            except DataError as error:
                raise DataError(f"{error} To run what stands in for it, give --anyway.") from None
