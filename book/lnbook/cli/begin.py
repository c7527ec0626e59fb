"""What `python -m lnbook run` sees to before it trains: a folder, data, and runs that are still the same."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lnbook.cli.options import UsageError
from lnbook.data import DATA_SETS, DataError, content_of, published
from lnbook.ledger.rows import results_dir
from lnbook.training.checkpoint import RunFolder
from lnbook.training.files import make_folder
from lnbook.training.identity import contents, identity
from lnbook.training.runs import label
from lnbook.training.task import Experiment, Job, Machine

__all__ = ["places", "prepare", "refuse_stand_ins"]

REAL = ("study", "paper")  # the scales whose numbers are about the data that they name


def places(experiment: Experiment, scale: str, out: Path | None) -> tuple[Path, Path]:
    """Where the runs of a scale keep their checkpoints, and where their rows are gathered.

    `out` is for both; by default they are in `results_dir(scale)` and, beside results, in `runs`.
    """
    results = out or results_dir(scale)
    return (out or results.parent.parent / "runs" / scale) / experiment.name, results


def refuse_stand_ins(experiment: Experiment, jobs: Sequence[Job], scale: str) -> None:
    """See that a study or the paper's own size will read the data that it names, downloaded if need be.

    Raises DataError for the first that is not available, or is corrupt.
    """
    names = dict.fromkeys(name for job in jobs for name in experiment.data(job, scale))
    for name in names if scale in REAL else ():
        if name in DATA_SETS and content_of(name) == "stand-in":
            try:
                published(name, on_stand_in="error")
            except DataError as error:
                raise DataError(
                    f"Scale {scale} of {experiment.name} is about {name}. {error} To run what stands in for "
                    f"it, on purpose, give --accept stand-in, or --scale book."
                ) from None


def prepare(
    experiment: Experiment,
    every: Sequence[Job],
    jobs: Sequence[Job],
    machine: Machine,
    folder: Path,
    asked: argparse.Namespace,
) -> None:
    """See that the folder can be written, and refuse to mix new runs with old ones, or with other data.

    Args:
        experiment, machine: of the runs.
        every: all jobs of the scale, whose rows will stand in one table.
        jobs: those to run.
        folder: of their checkpoints.
        asked: the options.

    Raises:
        UsageError: some have begun, and it is not said what to do with them.
        CheckpointError: one that is to go on, or to stand beside these, began with other data; or one that is
            to go on with other settings or other code.
        OutputError: the folder cannot be written.
    """
    begun = [job for job in jobs if _begun(folder, job)]
    if begun and not (asked.resume or asked.restart):
        raise UsageError(
            f"{len(begun)} of these runs have begun, {folder / label(begun[0])} for one. Go on with "
            f"--resume, begin anew with --restart, or give another --out."
        )
    going_on = [job for job in every if _begun(folder, job) and not (asked.restart and job in jobs)]
    content = contents(experiment, going_on, asked.scale)
    for job in going_on:
        now = identity(experiment, job, asked.scale, machine, content)
        changed = "changed-code" in asked.accept
        RunFolder.compare(folder / label(job), now, changed_code=changed, data_only=job not in jobs)
    make_folder(folder)
    if asked.restart:
        for job in begun:
            RunFolder.clear(folder / label(job))


def _begun(folder: Path, job: Job) -> bool:
    return (folder / label(job) / "job.json").is_file()
