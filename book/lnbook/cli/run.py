"""`python -m lnbook run`: run an experiment, go on with it, record its rows."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import torch

from lnbook.cli.experiments import EXPERIMENTS, find
from lnbook.cli.records import UsageError, collect, gather, record, stand_ins, summary
from lnbook.data import DATA_SETS, DataError, content_of, published
from lnbook.ledger.rows import SCALES, book_dir, results_dir
from lnbook.training.checkpoint import CheckpointError, RunFolder
from lnbook.training.distributed import join
from lnbook.training.runs import Outcome, jobs_of, label, run
from lnbook.training.task import Experiment, Job, Machine

INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended
REAL = ("study", "paper")  # the scales whose numbers are about the data that they name
ACCEPTED = ("changed-code", "stand-in", "partial", "dirty")
NOTES = """
A run that is stopped loses at most its last minute. --resume goes on, and gives the rows of an uninterrupted
run, bit for bit; a run whose settings, data or commit have changed does not go on.
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
    add("--restart", action="store_true", help="start over with runs that have begun")
    add("--record", action="store_true", help="keep rows and provenance in book/results/, to be committed")
    accepted = (
        "repeatable, and noted in the provenance. changed-code: go on with runs that another commit began; "
        "stand-in: allow one where scale study or paper lacks its data, and record it; partial, dirty: "
        "record only some of the runs, code that differs from its commit"
    )
    add("--accept", action="append", default=[], choices=ACCEPTED, help=accepted)
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--dtype", choices=["float32", "float64"], default="float32")
    add("--processes", type=int, metavar="N", help="runs at a time (default: one per core; one on a GPU)")
    return found


def _run(asked: argparse.Namespace) -> int:
    try:
        experiment = find(asked.experiment)
        every = jobs_of(experiment, asked.scale, asked.seed)
    except ValueError as error:
        raise UsageError(error) from None
    jobs = chosen(every, asked.only)
    if asked.record and book_dir() is None:
        raise UsageError("No checkout here: --record keeps rows in the repository's book/results/.")
    results = asked.out or results_dir(asked.scale)
    folder = (asked.out or results.parent.parent / "runs" / asked.scale) / experiment.name
    device = torch.device(asked.device)
    with join(device) as group:
        if group.rank == 0:
            _prepare(experiment, jobs, folder, asked)
        group.wait()
        made = run(
            experiment,
            asked.scale,
            jobs=jobs,
            machine=Machine(device, getattr(torch, asked.dtype), group.rank, group.world),
            group=group,
            folder=folder,
            processes=asked.processes or (1 if asked.device == "cuda" else None),
            verbose=True,
            changed_code="changed-code" in asked.accept,
        )
    if group.rank:
        return 0
    outcomes = collect(folder, every)
    if outcomes:
        _report(experiment.name, outcomes, asked.scale, results)
    print(f"{sum(not outcome.failed for outcome in outcomes)} of {len(every)} runs are done")
    failed = [outcome for outcome in made if outcome.failed]
    for outcome in failed:
        print(f"{label(outcome.job)}: {outcome.failed}", file=sys.stderr)
    if outcomes and asked.record and (book := book_dir()):
        kept = record(experiment.name, outcomes, len(every), asked.scale, book / "results", asked.accept)
        print(f"They are recorded in {kept}")
    return int(bool(failed))


def chosen(jobs: Sequence[Job], only: Sequence[str]) -> list[Job]:
    """The jobs that have all these settings; raises `UsageError` if there is none.

    >>> chosen([{"norm": "layer", "seed": 0}, {"norm": "batch", "seed": 0}], ["norm=batch"])
    [{'norm': 'batch', 'seed': 0}]
    """
    left = [job for job in jobs if {*only} <= {f"{key}={value}" for key, value in job.items()}]
    if not left:
        known = {key: sorted({str(job[key]) for job in jobs}) for key in jobs[0]}
        raise UsageError(f"No run has {' and '.join(only)}; write KEY=VALUE with one of {known}.")
    return left


def _prepare(experiment: Experiment, jobs: Sequence[Job], folder: Path, asked: argparse.Namespace) -> None:
    """See that these runs may begin: not over others, and a study not without the data that it names."""
    begun = [path for job in jobs if RunFolder.begun(path := folder / label(job))]
    if begun and not (asked.resume or asked.restart):
        raise UsageError(
            f"{len(begun)} of these runs have begun, {begun[0]} for one. Go on with --resume, begin anew "
            f"with --restart, or give another --out."
        )
    names = {name for job in jobs for name in experiment.data(job, asked.scale)} & set(DATA_SETS)
    if asked.scale in REAL and "stand-in" not in asked.accept:
        for name in sorted(name for name in names if content_of(name) == "stand-in"):
            try:
                published(name, on_stand_in="error")
            except DataError as error:
                raise DataError(f"{error} To run what stands in for it, give --accept stand-in.") from None
    for path in begun if asked.restart else ():
        with RunFolder(path, {}) as old:
            old.clear()


def _report(name: str, outcomes: Sequence[Outcome], scale: str, results: Path) -> None:
    """Gather the rows of all runs, also earlier ones, and print what they say."""
    path = gather(name, outcomes, scale, results)
    if rows := [row for outcome in outcomes if not outcome.failed for row in outcome.rows]:
        settings = list(outcomes[0].job)
        print(f"Means over seeds ± half their 95 % intervals\n\n{summary(rows, settings)}\n")
    for line in stand_ins(outcomes):
        print(line, file=sys.stderr)
    print(f"The rows are in {path}")
