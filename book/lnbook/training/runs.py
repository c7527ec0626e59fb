"""The runs of an experiment: one, or as many at a time as there are cores."""

import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
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
from lnbook.training.sweeps import sweep, torch_threads
from lnbook.training.task import Experiment, Job, Machine, Row, Task

__all__ = ["Outcome", "jobs_of", "label", "run", "selected"]


@dataclass(frozen=True)
class Outcome:
    """One run: its job, its rows, and how they came about; `failed` says why it stopped early."""

    job: Job
    rows: list[Row]
    facts: Mapping[str, Any]
    failed: str = ""


def label(job: Job) -> str:
    """A folder's name for a run.

    >>> label({"norm": "layer", "seed": 0})
    'norm-layer_seed-0'
    """
    return re.sub(r"[^\w.=+-]+", "-", "_".join(f"{key}-{value}" for key, value in job.items()))


def jobs_of(experiment: Experiment, scale: str, seed: int = 0) -> list[Job]:
    """The experiment's jobs; raises ValueError for seeds that torch would not tell apart."""
    jobs = experiment.jobs(scale, seed)
    if not all(0 <= job["seed"] < 2**32 for job in jobs):
        raise ValueError(f"Seeds go from 0 to below 2**32, all that torch tells apart; first was {seed}.")
    return jobs


def run(
    experiment: Experiment,
    scale: str,
    *,
    jobs: Sequence[Job] | None = None,
    machine: Machine | None = None,
    group: Group = ALONE,
    folder: Path | None = None,
    processes: int | None = None,
    verbose: bool = False,
    changed_code: bool = False,
) -> list[Outcome]:
    """Run an experiment's jobs, several at a time.

    Args:
        experiment: see `lnbook.cli.experiments`.
        scale: "smoke", "book", "study" or "paper".
        jobs: which to run; default: all of the scale.
        machine: default: float32 on the CPU.
        group: the processes that train each run together, one run after the other; default: this one.
        folder: for checkpoints, with a folder per run; a run that has begun there goes on.
        processes: as in `lnbook.training.sweep`; but at scale "smoke", where a run is shorter than the start
            of a process, 1 by default.
        verbose: print a line for each row on stderr.
        changed_code: go on with runs that another commit began; their facts then name all `commits`.

    On a GPU, runs that differ in their seeds alone are made at once where the experiment can
    (`Experiment.together`); one of them that fails is an error then.

    Returns:
        The outcomes, in the order of the jobs (on a GPU by setting). A run ends early, and says why in
        `failed`, if its loss is not finite or its folder cannot be used; the others go on.
    """
    jobs = jobs_of(experiment, scale) if jobs is None else jobs
    machine = machine or Machine()
    common = (experiment, scale, machine, folder, verbose, changed_code)
    if group.world > 1:
        with torch_threads(1):
            return [_run(*common, job=job, group=group) for job in jobs]
    if experiment.together and machine.device.type == "cuda":
        return [outcome for alike in _alike(jobs) for outcome in _run_together(*common, jobs=alike)]
    if processes is None and scale == "smoke":
        processes = 1
    outcomes: list[Outcome] = sweep(
        _attempt, [{"job": job} for job in jobs], common=common, processes=processes
    )
    for data in (data for outcome in outcomes for data in outcome.facts.get("data", [])):
        noted(data)  # a process of its own may have read it; the provenance of this one names it, too
    return outcomes


def selected(experiment: Experiment, job: Job, scale: str, folder: Path) -> Task:
    """The task of a run that `run` has finished in `folder`, with the model that it kept."""
    task = experiment.task(job, scale, Machine())
    task.model.load_state_dict(torch.load(folder / label(job) / "selected.pt", weights_only=True))
    return task


def _alike(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs that differ in their seeds alone, side by side."""
    found: dict[str, list[Job]] = {}
    for job in jobs:
        found.setdefault(label({**job, "seed": ""}), []).append(job)
    return list(found.values())


def _attempt(*common: Any, job: Job) -> Outcome:
    """One of many runs: if its folder cannot be used, that is its outcome, and the others go on."""
    try:
        return _run(*common, job=job)
    except (CheckpointError, OSError) as error:
        return Outcome(job, [], {}, str(error))


def _run(
    experiment: Experiment,
    scale: str,
    machine: Machine,
    folder: Path | None,
    verbose: bool,
    changed_code: bool,
    *,
    job: Job,
    group: Group = ALONE,
) -> Outcome:
    """One run in this process or, with a group, in all its processes, the first of which has the folder."""
    started = time.perf_counter()
    with _place(experiment, scale, machine, folder if group.rank == 0 else None, changed_code, job) as kept:
        if (told := group.share(kept.outcome() if kept else None)) is not None:
            return Outcome(job, told["rows"], told["facts"], told["failed"])
        _forget_peak_memory()
        task, failed = experiment.task(job, scale, machine), ""
        log = partial(_tell, label(job), task.updates) if verbose else None
        seed = int(job["seed"])
        try:
            done = train(task, job=job, seed=seed, machine=machine, group=group, folder=kept, log=log)
        except NonFiniteLoss as error:
            done, failed = Run(error.rows, wall_seconds=time.perf_counter() - started), str(error)
        return _finish(experiment, scale, machine, job, kept, done, failed, processes=group.world)


def _run_together(
    experiment: Experiment,
    scale: str,
    machine: Machine,
    folder: Path | None,
    verbose: bool,
    changed_code: bool,
    *,
    jobs: Sequence[Job],
) -> list[Outcome]:
    """Runs that differ in their seeds alone, by `Experiment.together`; those that are finished stay."""
    assert experiment.together
    with ExitStack() as places:
        kept = [
            places.enter_context(_place(experiment, scale, machine, folder, changed_code, job))
            for job in jobs
        ]
        told = [place.outcome() if place else None for place in kept]
        left = [k for k, outcome in enumerate(told) if outcome is None]
        tasks = [experiment.task(jobs[k], scale, machine) for k in left]
        runs = experiment.together(tasks, [jobs[k] for k in left], machine) if left else []
        made = dict(zip(left, runs, strict=True))
        for k, done in made.items():
            if verbose:
                _tell(label(jobs[k]), done.update, done.rows[-1])
            if (place := kept[k]) and done.best:
                place.write_selected(done.best["weights"])
        return [
            Outcome(job, old["rows"], old["facts"], old["failed"])
            if old
            else _finish(experiment, scale, machine, job, place, made[k], "", together=len(left))
            for k, (job, place, old) in enumerate(zip(jobs, kept, told, strict=True))
        ]


def _place(
    experiment: Experiment, scale: str, machine: Machine, folder: Path | None, changed_code: bool, job: Job
) -> RunFolder | nullcontext[None]:
    """The folder of a run, which says what must be the same when it goes on; no folder, no place."""
    if folder is None:
        return nullcontext()
    commit = provenance()["commit"]
    same = {**job, "scale": scale, "dtype": str(machine.dtype), "commit": commit}
    same |= {f"data:{name}": content_of(name) for name in experiment.data(job, scale)}
    session = {"commit": commit, "rules": _rules(f"{scale}/{experiment.name}")}
    return RunFolder(folder / label(job), same, session, changed_code=changed_code)


def _finish(
    experiment: Experiment,
    scale: str,
    machine: Machine,
    job: Job,
    kept: RunFolder | None,
    done: Run,
    failed: str,
    **how: int,
) -> Outcome:
    """What a run leaves: its rows, and how they came about."""
    rules = kept.sessions[0]["rules"] if kept else _rules(f"{scale}/{experiment.name}")
    facts = provenance(
        scale=scale,
        job=dict(job),
        seconds=round(done.wall_seconds, 2),
        dtype=str(machine.dtype),
        machine=str(machine.device),
        rules=rules,  # as they were before there was any data
        **how,
    )
    if own := experiment.data(job, scale):  # another run in this process may have read others
        facts["data"] = [data for data in facts["data"] if data["requested"] in own]
    commits = list(dict.fromkeys(one["commit"] for one in kept.sessions)) if kept else []
    if len(commits) > 1:
        facts["commits"] = commits
    rows = [{**job, "selected": 0, **row} for row in done.rows]
    if done.selected:
        rows.append({**job, "selected": 1, **done.selected})
    if kept:
        kept.write_outcome({"rows": rows, "facts": facts, "failed": failed})
    return Outcome(job, rows, facts, failed)


def _tell(name: str, updates: int, row: Row) -> None:
    """A line on stderr: which run, how far, for how long, the loss."""
    loss = "" if row["train_loss"] is None else f", train_loss {row['train_loss']:.4g}"
    print(f"{name}: update {row['update']}/{updates}, {row['seconds']:.0f} s{loss}", file=sys.stderr)


@cache
def _rules(study: str) -> dict[str, str]:
    """The digests of the ledger's rules that a study is to decide."""
    return {rule.id: digest(rule) for rule in load_rules() if rule.study == study}


def _forget_peak_memory() -> None:
    """Make a run's peak its own, and not that of an earlier run in the same process."""
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
