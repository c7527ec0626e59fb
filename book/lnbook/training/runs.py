"""The runs of an experiment: one, or as many at a time as there are cores."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from lnbook.data.sources import noted
from lnbook.ledger.provenance import provenance
from lnbook.ledger.rules import digest, load_rules
from lnbook.training.checkpoint import RunFolder
from lnbook.training.distributed import ALONE, Group
from lnbook.training.errors import CheckpointError, NonFiniteLoss, OutputError, RunBusy
from lnbook.training.identity import check_contents, code_digest, contents, identity
from lnbook.training.loop import train
from lnbook.training.record import Run
from lnbook.training.report import LogLine, differing, title
from lnbook.training.sweeps import sweep, wanted
from lnbook.training.task import Experiment, Job, Machine, Row, Task

__all__ = ["Outcome", "Plan", "attempt", "jobs_of", "label", "run", "run_one", "selected", "unfinished"]

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
    """What the runs of a sweep have in common.

    Args:
        experiment, scale, machine: what to run, how large, where.
        folder: for checkpoints, with a folder per run; None for no checkpoints.
        every_seconds: from one checkpoint to the next.
        bar, lines: show a bar, or a line for each row, on stderr.
        names: the settings that tell the runs apart.
        changed_code: go on with runs that other code began; their facts then name both codes, as `codes`.
        content: of the runs' data, from `lnbook.training.identity.contents`; needed with a folder.
    """

    experiment: Experiment
    scale: str
    machine: Machine
    folder: Path | None = None
    every_seconds: float = 60.0
    bar: bool = False
    lines: bool = False
    names: Sequence[str] = ()
    changed_code: bool = False
    content: Mapping[str, str] = field(default_factory=dict)


def label(job: Job) -> str:
    """A folder's name for a run.

    >>> label({"norm": "layer", "seed": 0})
    'norm-layer_seed-0'
    """
    return re.sub(r"[^\w.=+-]+", "-", "_".join(f"{key}-{value}" for key, value in job.items()))


def jobs_of(experiment: Experiment, scale: str, seed: int = 0) -> list[Job]:
    """The experiment's jobs, checked: all have the same settings, a valid seed, and a folder of their own.

    Raises ValueError if they do not.
    """
    jobs = experiment.jobs(scale, seed)
    if not jobs or any(job.keys() != jobs[0].keys() or "seed" not in job for job in jobs):
        raise ValueError(f"The jobs of {experiment.name} must have equal settings, one of them 'seed'.")
    seeds = sorted({int(job["seed"]) for job in jobs})
    if not 0 <= seeds[0] <= seeds[-1] < SEEDS:
        raise ValueError(
            f"The seeds of {experiment.name} go from {seeds[0]} to {seeds[-1]}, but must be at least 0 and "
            f"below 2**32: of larger ones torch uses only the lowest 32 bits. Give another first seed."
        )
    labels = [label(job) for job in jobs]
    if twice := sorted({name for name in labels if labels.count(name) > 1}):
        raise ValueError(
            f"Several jobs of {experiment.name} would share the folder {twice[0]}; give them other settings."
        )
    return jobs


def run(
    experiment: Experiment,
    scale: str,
    seed: int = 0,
    *,
    jobs: Sequence[Job] | None = None,
    machine: Machine | None = None,
    folder: Path | None = None,
    processes: int | None = None,
    threads: int = 1,
    every_seconds: float = 60.0,
    progress: bool | None = None,
    verbose: bool = False,
    changed_code: bool = False,
) -> list[Outcome]:
    """Run an experiment's jobs, several at a time.

    Args:
        experiment: see `lnbook.cli.experiments`.
        scale: "smoke", "book", "study" or "paper".
        seed: the first seed; the others count up from it.
        jobs: which to run; default: all of the scale.
        machine: default: float32 on the CPU.
        folder: for checkpoints, with a folder per run; a run that has begun there goes on.
        processes, threads, progress: as in `lnbook.training.sweep`; but at scale "smoke", where a run is
            shorter than the start of a process, `processes` is 1 by default.
        every_seconds: from one checkpoint to the next.
        verbose: if no bar is shown, print a line for each row on stderr.
        changed_code: as in `Plan`.

    Returns:
        The outcomes, in the order of the jobs. A run ends early, and says why in `failed`, if its loss is
        not finite or its folder cannot be used; the others go on.
    """
    chosen = jobs_of(experiment, scale, seed) if jobs is None else list(jobs)
    bar = wanted(progress)
    names = differing([*experiment.jobs(scale, seed), *chosen])
    plan = Plan(
        experiment,
        scale,
        machine or Machine(),
        folder,
        every_seconds,
        bar,
        verbose and not bar,
        names,
        changed_code=changed_code,
        content=contents(experiment, chosen, scale) if folder else {},
    )
    work = [{"job": job} for job in chosen]
    if processes is None and scale == "smoke":
        processes = 1
    outcomes = sweep(attempt, work, common=(plan,), processes=processes, threads=threads, progress=bar)
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
    except (CheckpointError, OutputError, RunBusy) as error:
        return Outcome(job, [], {}, str(error))


def run_one(plan: Plan, *, job: Job, group: Group = ALONE) -> Outcome:
    """One run in this process or, with a group, in all its processes, the first of which has the folder.

    Raises what `train` and `RunFolder` raise, except `NonFiniteLoss`, which becomes an outcome.
    """
    if plan.folder is None or not group.first:
        return _run_in(nullcontext(), plan, job, group)
    what = identity(plan.experiment, job, plan.scale, plan.machine, plan.content)
    folder = RunFolder(plan.folder / label(job), what, changed_code=plan.changed_code)
    return _run_in(folder, plan, job, group)


def _run_in(place: RunFolder | nullcontext[None], plan: Plan, job: Job, group: Group) -> Outcome:
    with place as folder:
        kept = group.share(folder.outcome() if folder else None)
        if kept is not None:
            return Outcome(job, kept["rows"], kept["facts"], kept["failed"])
        started = time.perf_counter()
        _forget_peak_memory()
        task = plan.experiment.task(job, plan.scale, plan.machine)
        code = {"code": code_digest(folder.job)} if folder else {}
        begun = _facts(plan, job, group, 0.0) | code
        if folder:
            check_contents({name: plan.content[name] for name in plan.experiment.data(job, plan.scale)})
        if folder:
            folder.begin(begun)
        name, failed = title(job, plan.names), ""
        try:
            done = train(
                task,
                job=job,
                seed=int(job["seed"]),
                machine=plan.machine,
                group=group,
                folder=folder,
                every_seconds=plan.every_seconds,
                progress=plan.bar,
                log=LogLine(name, task.updates, task.select) if plan.lines else None,
                title=name,
            )
        except NonFiniteLoss as error:
            done, failed = Run(error.rows, wall_seconds=time.perf_counter() - started), str(error)
        sessions = RunFolder.sessions(folder.path) if folder else [begun]
        facts = _facts(plan, job, group, done.wall_seconds) | code
        facts["rules"] = sessions[0].get("rules", {})  # as they were before there was any data
        outcome = Outcome(job, _rows(job, done.rows, done.selected), facts | _several(sessions), failed)
        if folder:
            folder.write_outcome({"rows": outcome.rows, "facts": outcome.facts, "failed": failed})
        return outcome


def unfinished(path: Path, job: Job) -> Outcome | None:
    """What a run had recorded by its newest checkpoint; None if there is none.

    `facts["unfinished"]` says how far it is. The selected model is the best so far, as measured at the time.
    """
    state = RunFolder.peek(path)
    if state is None:
        return None
    best = Run(state["rows"], state["best"]).best_row()
    sessions = RunFolder.sessions(path)
    facts = {**sessions[-1], "rules": sessions[0].get("rules", {})} if sessions else {"job": dict(job)}
    of = f" of {state['updates']}" if "updates" in state else ""
    facts |= {"unfinished": f"update {state['update']}{of}", "seconds": round(state["seconds"], 2)}
    return Outcome(job, _rows(job, state["rows"], best), facts | _several(sessions))


def _several(sessions: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The commits and codes of a run's sessions, in order, where there is more than one."""
    found = {f"{kind}s": list(dict.fromkeys(s.get(kind) for s in sessions)) for kind in ("commit", "code")}
    return {kinds: several for kinds, several in found.items() if len(several) > 1}


def _rows(job: Job, rows: Sequence[Row], selected: Row | None) -> list[Row]:
    """Each row with its job's settings, and a mark for that of the selected model."""
    marked = [(0, row) for row in rows] + ([(1, selected)] if selected else [])
    return [{**job, "selected": mark, **row} for mark, row in marked]


def _numbers(machine: Machine) -> dict[str, str]:
    return {"dtype": str(machine.dtype), "autocast": str(machine.autocast)}


def _facts(plan: Plan, job: Job, group: Group, seconds: float) -> dict[str, Any]:
    facts = provenance(scale=plan.scale, job=dict(job), seconds=round(seconds, 2), **_numbers(plan.machine))
    facts |= {"processes": group.world, "machine": str(plan.machine.device)}
    facts["rules"] = _rules(f"{plan.scale}/{plan.experiment.name}")
    if own := plan.experiment.data(job, plan.scale):  # other runs in this process may have read other data
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
