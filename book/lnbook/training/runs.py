"""The runs of an experiment: one, or as many at a time as there are cores."""

import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from lnbook.data import content_of
from lnbook.data.sources import noted
from lnbook.ledger.provenance import provenance
from lnbook.ledger.rules import digest, load_rules
from lnbook.training.checkpoint import CheckpointError, RunFolder
from lnbook.training.distributed import ALONE, Group
from lnbook.training.loop import NonFiniteLoss, Run, train
from lnbook.training.sweeps import sweep
from lnbook.training.task import Experiment, Job, Machine, Row, Task

__all__ = ["Outcome", "Plan", "attempt", "jobs_of", "label", "run", "run_one", "selected"]

SEEDS = 2**32


@dataclass(frozen=True)
class Outcome:
    """One run: its job, its rows, and how they came about; `failed` says why it stopped early."""

    job: Job
    rows: list[Row]
    facts: Mapping[str, Any]
    failed: str = ""


@dataclass(frozen=True)
class Plan:
    """What the runs of a sweep have in common: the arguments of `run`."""

    experiment: Experiment
    scale: str
    machine: Machine
    folder: Path | None
    verbose: bool
    changed_code: bool


def label(job: Job) -> str:
    """A folder's name for a run.

    >>> label({"norm": "layer", "seed": 0})
    'norm-layer_seed-0'
    """
    return re.sub(r"[^\w.=+-]+", "-", "_".join(f"{key}-{value}" for key, value in job.items()))


def jobs_of(experiment: Experiment, scale: str, seed: int = 0) -> list[Job]:
    """The experiment's jobs; raises ValueError for seeds that torch would not tell apart."""
    jobs = experiment.jobs(scale, seed)
    seeds = sorted({int(job["seed"]) for job in jobs})
    if not 0 <= seeds[0] <= seeds[-1] < SEEDS:
        raise ValueError(
            f"The seeds of {experiment.name} go from {seeds[0]} to {seeds[-1]}, but must be at least 0 and "
            f"below 2**32: of larger ones torch uses only the lowest 32 bits. Give another first seed."
        )
    return jobs


def run(
    experiment: Experiment,
    scale: str,
    *,
    jobs: Sequence[Job] | None = None,
    machine: Machine | None = None,
    folder: Path | None = None,
    processes: int | None = None,
    progress: bool = False,
    verbose: bool = False,
    changed_code: bool = False,
) -> list[Outcome]:
    """Run an experiment's jobs, several at a time.

    Args:
        experiment: see `lnbook.cli.experiments`.
        scale: "smoke", "book", "study" or "paper".
        jobs: which to run; default: all of the scale.
        machine: default: float32 on the CPU.
        folder: for checkpoints, with a folder per run; a run that has begun there goes on.
        processes, progress: as in `lnbook.training.sweep`; but at scale "smoke", where a run is shorter than
            the start of a process, `processes` is 1 by default.
        verbose: print a line for each row on stderr.
        changed_code: go on with runs that another commit began; their facts then name all `commits`.

    Returns:
        The outcomes, in the order of the jobs. A run ends early, and says why in `failed`, if its loss is
        not finite or its folder cannot be used; the others go on.
    """
    plan = Plan(experiment, scale, machine or Machine(), folder, verbose, changed_code)
    work = [{"job": job} for job in (jobs_of(experiment, scale) if jobs is None else jobs)]
    if processes is None and scale == "smoke":
        processes = 1
    outcomes: list[Outcome] = sweep(attempt, work, common=(plan,), processes=processes, progress=progress)
    for data in (data for outcome in outcomes for data in outcome.facts.get("data", [])):
        noted(data)  # a process of its own may have read it; the provenance of this one names it, too
    return outcomes


def selected(experiment: Experiment, job: Job, scale: str, folder: Path) -> Task:
    """The task of a run that `run` has finished in `folder`, with the model that it kept."""
    task = experiment.task(job, scale, Machine())
    task.model.load_state_dict(torch.load(folder / label(job) / "selected.pt", weights_only=True))
    return task


def attempt(plan: Plan, *, job: Job) -> Outcome:
    """One of many runs: if its folder cannot be used, that is its outcome, and the others go on."""
    try:
        return run_one(plan, job=job)
    except (CheckpointError, OSError) as error:
        return Outcome(job, [], {}, str(error))


def run_one(plan: Plan, *, job: Job, group: Group = ALONE) -> Outcome:
    """One run in this process or, with a group, in all its processes, the first of which has the folder."""
    place: RunFolder | nullcontext[None] = nullcontext()
    if plan.folder is not None and group.first:
        place = RunFolder(plan.folder / label(job), _identity(plan, job), changed_code=plan.changed_code)
    with place as folder:
        kept = group.share(folder.outcome() if folder else None)
        if kept is not None:
            return Outcome(job, kept["rows"], kept["facts"], kept["failed"])
        started = time.perf_counter()
        _forget_peak_memory()
        task = plan.experiment.task(job, plan.scale, plan.machine)
        sessions = folder.sessions if folder else []
        sessions.append(_facts(plan, job, group, 0.0))
        failed = ""
        try:
            done = train(
                task,
                job=job,
                seed=int(job["seed"]),
                machine=plan.machine,
                group=group,
                folder=folder,
                log=partial(_tell, label(job), task.updates) if plan.verbose else None,
            )
        except NonFiniteLoss as error:
            done, failed = Run(error.rows, wall_seconds=time.perf_counter() - started), str(error)
        facts = _facts(plan, job, group, done.wall_seconds)
        facts |= _of_sessions(sessions)
        outcome = Outcome(job, _rows(job, done.rows, done.selected), facts, failed)
        if folder:
            folder.write_outcome({"rows": outcome.rows, "facts": outcome.facts, "failed": failed})
        return outcome


def _identity(plan: Plan, job: Job) -> dict[str, Any]:
    """What must be the same when a run goes on: settings, numbers, the content of its data, the commit."""
    data = {f"data:{name}": content_of(name) for name in plan.experiment.data(job, plan.scale)}
    return {**job, "scale": plan.scale, **_numbers(plan.machine), **data, "commit": provenance()["commit"]}


def _of_sessions(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rules as they were before there was any data, and all commits if there are several."""
    commits = list(dict.fromkeys(session["commit"] for session in sessions))
    return {"rules": sessions[0]["rules"]} | ({"commits": commits} if len(commits) > 1 else {})


def _rows(job: Job, rows: Sequence[Row], selected: Row | None) -> list[Row]:
    """Each row with its job's settings, and a mark for that of the selected model."""
    marked = [(0, row) for row in rows] + ([(1, selected)] if selected else [])
    return [{**job, "selected": mark, **row} for mark, row in marked]


def _tell(name: str, updates: int, row: Row) -> None:
    """A line on stderr: which run, how far, for how long, the loss."""
    loss = "" if row["train_loss"] is None else f", train_loss {row['train_loss']:.4g}"
    print(f"{name}: update {row['update']}/{updates}, {row['seconds']:.0f} s{loss}", file=sys.stderr)


def _numbers(machine: Machine) -> dict[str, str]:
    return {"dtype": str(machine.dtype), "autocast": str(machine.autocast)}


def _facts(plan: Plan, job: Job, group: Group, seconds: float) -> dict[str, Any]:
    facts = provenance(scale=plan.scale, job=dict(job), seconds=round(seconds, 2), **_numbers(plan.machine))
    facts |= {"processes": group.world, "machine": str(plan.machine.device)}
    facts["rules"] = _rules(f"{plan.scale}/{plan.experiment.name}")
    if own := plan.experiment.data(job, plan.scale):  # another run in this process may have read others
        facts["data"] = [data for data in facts["data"] if data["requested"] in own]
    if plan.machine.device.type == "cuda":
        facts["peak_gpu_memory_mb"] = round(torch.cuda.max_memory_allocated(plan.machine.device) / 1e6)
    return facts


@cache
def _rules(study: str) -> Mapping[str, str]:
    """The digests of the ledger's rules that a study is to decide."""
    return {rule.id: digest(rule) for rule in load_rules() if rule.study == study}


def _forget_peak_memory() -> None:
    """Make a run's peak its own, and not that of an earlier run in the same process."""
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    if torch.cuda.is_initialized():
        torch.cuda.reset_peak_memory_stats()
