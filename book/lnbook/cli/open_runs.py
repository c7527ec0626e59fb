"""The runs of the recorded scales that are neither in the record nor finished here, in the plan's order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lnbook.cli.begin import places
from lnbook.cli.questions import place
from lnbook.cli.recording import recorded_runs
from lnbook.data import DATA_SETS, DataError, content_of
from lnbook.training.checkpoint import RunFolder
from lnbook.training.errors import CheckpointError
from lnbook.training.runs import Outcome, jobs_of, label
from lnbook.training.task import Experiment, Job

__all__ = ["SCALES", "OpenRun", "Scope", "open_runs", "scopes"]

SCALES = ("paper", "study")  # the recorded ones, in the order of the plan


@dataclass(frozen=True)
class Scope:
    """An experiment at one scale.

    Args:
        experiment, scale: which.
        seed: the first seed.
        jobs: all of them.
        recorded: the runs that `book/results` holds.
        folder, results: where its runs keep checkpoints, and where their rows are gathered.
    """

    experiment: Experiment
    scale: str
    seed: int
    jobs: Sequence[Job]
    recorded: Sequence[Outcome]
    folder: Path
    results: Path

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.experiment.section} {self.experiment.name}, scale {self.scale}"


@dataclass(frozen=True)
class OpenRun:
    """A run that is still to be made.

    Args:
        scope: where it belongs.
        number: its place among the scope's jobs, from 0, as `--job` counts.
        begun: whether it has begun.
    """

    scope: Scope
    number: int
    begun: bool

    @property
    def job(self) -> Job:
        """Its settings."""
        return self.scope.jobs[self.number]

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.scope.folder / label(self.job)


def scopes(
    experiments: Iterable[Experiment], out: Path | None, record: Path | None, seed: int = 0
) -> tuple[list[Scope], list[str]]:
    """Every experiment at every recorded scale, and a line about each that does not exist.

    Args:
        experiments: which.
        out: for checkpoints and rows, with a folder per scale; None for the usual places.
        record: the folder of recorded rows; None if there is no checkout.
        seed: the first seed where nothing is recorded; elsewhere the record's first seed counts.

    Raises ValueError if rows in the record were changed.
    """
    found, said = [], []
    for scale in SCALES:
        for experiment in experiments:
            recorded = recorded_runs(experiment.name, scale, record) if record else []
            first = min((int(run.job["seed"]) for run in recorded), default=seed)
            try:
                jobs = jobs_of(experiment, scale, first)
            except ValueError as error:
                said.append(f"{experiment.section} {experiment.name}, scale {scale}: {error}")
                continue
            folder, results = places(experiment, scale, out / scale if out else None)
            found.append(Scope(experiment, scale, first, jobs, recorded, folder, results))
    return found, said


def open_runs(scopes: Iterable[Scope]) -> tuple[list[OpenRun], list[str]]:
    """The open runs, and lines about those that are left out.

    They are in the order of the questions; for each question, runs that have begun come first, then the order
    of the jobs, which completes seed after seed. Runs whose data are missing here or damaged are left out.
    """
    found, said = [], []
    for scope in scopes:
        known = [run.job for run in scope.recorded]
        runs = [
            OpenRun(scope, number, (scope.folder / label(job) / "job.json").is_file())
            for number, job in enumerate(scope.jobs)
            if job not in known and not _finished(scope.folder / label(job))
        ]
        lacks = {name: _lack(name) for run in runs for name in scope.experiment.data(run.job, scope.scale)}
        for name, why in lacks.items():
            without = [run for run in runs if name in scope.experiment.data(run.job, scope.scale)]
            if why:
                said.append(f"{scope.name}: {len(without)} of {len(runs)} open runs are left out. {why}")
                runs = [run for run in runs if run not in without]
        found += runs
    return sorted(found, key=_order), said


def _order(run: OpenRun) -> tuple[int, bool]:
    scope = run.scope
    return place(scope.experiment.section, scope.scale, run.job), not run.begun


def _finished(path: Path) -> bool:
    try:
        return RunFolder.outcome_in(path) is not None
    except CheckpointError:  # a damaged one is made again
        return False


def _lack(name: str) -> str:
    """Why a data set cannot be read; "" if it can."""
    try:
        content = content_of(name, download=False)
    except DataError as error:
        return str(error)
    if content not in ("absent", "stand-in"):
        return ""
    if name in DATA_SETS:
        return f"{name} is not here; `python -m lnbook data --download {name}` fetches it."
    return f"{name} is not here; put its files into $LNLIB_DATA/{name}/."
