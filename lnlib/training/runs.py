"""`python -m lnlib run`: the runs of an experiment, one after another, side by side, or by a scheduler."""

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from lnlib.experiments.registry import EXPERIMENTS, find
from lnlib.provenance import provenance
from lnlib.rows import SCALES, book_dir, results_dir, write_csv
from lnlib.training.checkpoint import CheckpointError, OutputError, RunFolder
from lnlib.training.distributed import ALONE, Group, join
from lnlib.training.loop import NonFiniteLoss, train
from lnlib.training.sweeps import sweep
from lnlib.training.task import Experiment, Job, Machine, Row

__all__ = ["Outcome", "gather", "label", "main", "run", "run_one"]

TYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(frozen=True)
class Outcome:
    """One finished run: its job, its rows, and how they came about; `failed` says why it stopped early."""

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
) -> list[Outcome]:
    """Run an experiment's jobs, as many at a time as there are cores.

    Args:
        experiment: see `lnlib.experiments.registry`.
        scale: "smoke", "book" or "paper".
        seed: the first seed; the others count up from it.
        jobs: default: all of the scale.
        machine: default: float32 on the CPU.
        folder: where checkpoints go, a folder for each run; a run that has begun there goes on.
        processes, threads, progress: as in `lnlib.training.sweep`.
        every_seconds: from one checkpoint to the next.
        verbose: a line on stderr for each row.

    Returns:
        The outcomes, in the order of the jobs. A run whose loss is not finite ends early and says so.
    """
    chosen = experiment.jobs(scale, seed) if jobs is None else list(jobs)
    work = [{"job": job} for job in chosen]
    common = (experiment, scale, machine or Machine(), folder, every_seconds, verbose)
    return sweep(run_one, work, common=common, processes=processes, threads=threads, progress=progress)


def run_one(
    experiment: Experiment,
    scale: str,
    machine: Machine,
    folder: Path | None,
    every_seconds: float,
    verbose: bool,
    *,
    job: Job,
    group: Group = ALONE,
) -> Outcome:
    """One job of `run`, in this process; or, with a group, in all processes of it."""
    start = time.perf_counter()
    numbers = {"dtype": str(machine.dtype), "autocast": str(machine.autocast)}
    place = RunFolder(folder / label(job), {**job, "scale": scale, **numbers}) if folder else None
    if place and (kept := RunFolder.outcome_in(place.path)):
        return Outcome(job, kept["rows"], kept["facts"], kept["failed"])
    task = experiment.task(job, scale, machine)
    failed = ""
    try:
        done = train(
            task,
            job=job,
            seed=int(job["seed"]),
            machine=machine,
            group=group,
            folder=place,
            every_seconds=every_seconds,
            progress=False if verbose else None,
            log=_Line(job, task.updates) if verbose else None,
        )
        rows, selected = done.rows, done.selected
    except NonFiniteLoss as error:
        rows, selected, failed = error.rows, None, str(error)
    rows = [{**job, "selected": 0, **row} for row in rows]
    rows += [{**job, "selected": 1, **selected}] if selected else []
    facts = provenance(scale=scale, job=dict(job), seconds=round(time.perf_counter() - start, 2), **numbers)
    facts |= {"processes": group.world, "machine": str(machine.device)}
    outcome = Outcome(job, rows, facts, failed)
    if place and group.first:
        place.write_outcome({"rows": rows, "facts": facts, "failed": failed})
    return outcome


class _Line:
    """A line on stderr for each row: which run, how far, how fast, and the measures."""

    def __init__(self, job: Job, updates: int) -> None:
        self.name = " ".join(str(value) for value in job.values())
        self.updates, self.begun = updates, (0, time.monotonic())

    def __call__(self, row: Row) -> None:
        (before, then), now = self.begun, time.monotonic()
        rate = (row["update"] - before) / max(now - then, 1e-9)
        self.begun = row["update"], now
        left = (self.updates - row["update"]) / rate if rate else float("nan")
        numbers = " ".join(
            f"{k} {v:.4g}"
            for k, v in row.items()
            if isinstance(v, float) and k not in ("seconds", "cases_seen")
        )
        done = f"update {row['update']}/{self.updates}, {rate:.1f} a second, {left:.0f} s left"
        print(f"[{self.name}] {done}: {numbers}", file=sys.stderr, flush=True)


def gather(experiment: Experiment, outcomes: Sequence[Outcome], scale: str, folder: Path) -> Path:
    """Write `<experiment>.csv`, the rows of all runs, and `<experiment>.json`, how they came about."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.csv"
    write_csv(path, [row for outcome in outcomes for row in outcome.rows])
    runs = [{**o.facts, "failed": o.failed} for o in outcomes]
    common = {k: v for k, v in runs[0].items() if all(r.get(k) == v for r in runs)}
    own = [{k: v for k, v in r.items() if k not in common} for r in runs]
    facts = common | {"scale": scale, "runs": own, "seconds": round(sum(r["seconds"] for r in runs), 1)}
    path.with_suffix(".json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def main(argv: Sequence[str]) -> int:
    """`python -m lnlib run`: run an experiment, or a part of it; under `torchrun` in many processes."""
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except (OutputError, CheckpointError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lnlib run",
        description="Run one of the paper's experiments.",
        epilog="Experiments: " + ", ".join(f"{section} {name}" for section, name in EXPERIMENTS.items()),
    )
    add = parser.add_argument
    add("experiment", help="section or name, as 6.6 or permutation_mnist")
    add("--scale", choices=SCALES, default="book")
    add("--seed", type=int, default=0, help="the first seed (default 0)")
    add("--only", action="append", default=[], metavar="KEY=VALUE", help="runs with this setting; repeatable")
    add("--job", type=int, metavar="K", help="only the K-th run, from 0: for a scheduler's array")
    add("--list", action="store_true", help="print a command for each run, and run none")
    add("--out", type=Path, metavar="DIR", help="where runs and rows go (default: _build)")
    add("--resume", action="store_true", help="go on with runs that have begun")
    add("--restart", action="store_true", help="begin anew runs that have begun")
    add("--record", action="store_true", help="keep rows and provenance in book/results/, to be committed")
    add("--device", default="cpu", help="cpu, cuda, cuda:1, or auto: CUDA if there is one")
    add("--dtype", choices=["float32", "float64"], default="float32")
    add("--autocast", choices=["bfloat16", "float16"])
    add("--processes", type=int, help="runs at a time (default: one a core)")
    add("--threads", type=int, default=1, help="threads of a run (default 1)")
    add("--every", type=float, default=60.0, metavar="SECONDS", help="from checkpoint to checkpoint")
    return parser


def _run(options: argparse.Namespace) -> int:
    experiment = find(options.experiment)
    scale = options.scale
    jobs = _chosen(experiment.jobs(scale, options.seed), options.only)
    if options.list:
        rest = [f"--seed {options.seed}", *(f"--only '{only}'" for only in options.only)]
        for k, job in enumerate(jobs):
            flags = " ".join([f"--scale {scale}", *rest, f"--job {k} --resume"])
            print(f"python -m lnlib run {experiment.name} {flags}  # {label(job)}")
        return 0
    if options.job is not None:
        if not 0 <= options.job < len(jobs):
            raise ValueError(f"--job is {options.job}, and there are {len(jobs)} runs, from 0; see --list.")
        mine = [jobs[options.job]]
    else:
        mine = jobs
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    with join(torch.device(device)) as group:
        if device == "cuda" and group.world > 1:
            device = f"cuda:{group.local_rank}"
        machine = Machine(torch.device(device), TYPES[options.dtype], TYPES.get(options.autocast or ""))
        machine = replace(machine, rank=group.rank, world=group.world)
        results = options.out or results_dir(scale)
        folder = (options.out or results_dir(scale).parent.parent / "runs" / scale) / experiment.name
        _prepare(folder, mine, options, group)
        if group.world > 1:
            torch.set_num_threads(options.threads)
            made = [
                run_one(experiment, scale, machine, folder, options.every, group.first, job=job, group=group)
                for job in mine
            ]
        else:
            made = run(
                experiment,
                scale,
                jobs=mine,
                machine=machine,
                folder=folder,
                processes=options.processes,
                threads=options.threads,
                every_seconds=options.every,
                verbose=True,
            )
        if not group.first:
            return 0
    return _report(experiment, jobs, made, folder, results, options)


def _prepare(folder: Path, jobs: Sequence[Job], options: argparse.Namespace, group: Group) -> None:
    """Refuse to mix new runs with old ones unasked."""
    begun = [folder / label(job) for job in jobs if (folder / label(job) / "job.json").is_file()]
    if begun and not (options.resume or options.restart):
        raise ValueError(
            f"{len(begun)} of these runs have begun, {begun[0]} for one. Go on with --resume, begin anew "
            f"with --restart, or give another --out."
        )
    if options.restart and group.first:
        for path in begun:
            RunFolder.clear(path)
    group.wait()


def _report(
    experiment: Experiment,
    jobs: Sequence[Job],
    made: Sequence[Outcome],
    folder: Path,
    results: Path,
    options: argparse.Namespace,
) -> int:
    """Gather what is finished of all runs, and say what is missing or failed."""
    outcomes = []
    for job in jobs:
        kept = RunFolder.outcome_in(folder / label(job))
        if kept:
            outcomes.append(Outcome(job, kept["rows"], kept["facts"], kept["failed"]))
    path = gather(experiment, outcomes, options.scale, results)
    print(f"{len(outcomes)} of {len(jobs)} runs are done; their rows are in {path}")
    if options.record:
        book = book_dir()
        if book is None:
            raise ValueError("no checkout here: --record keeps rows in the repository's book/results/")
        print(f"and in {gather(experiment, outcomes, options.scale, book / 'results' / options.scale)}")
    for outcome in made:
        if outcome.failed:
            print(f"{label(outcome.job)}: {outcome.failed}", file=sys.stderr)
    return int(any(outcome.failed for outcome in made))


def _chosen(jobs: Sequence[Job], only: Sequence[str]) -> list[Job]:
    """The jobs that have all these settings."""
    chosen = list(jobs)
    for condition in only:
        key, equals, value = condition.partition("=")
        known = sorted({str(job[key]) for job in jobs if key in job})
        if not equals or value not in known:
            raise ValueError(
                f"--only {condition!r} is met by no run; write KEY=VALUE with KEY one of {list(jobs[0])}"
                + (f" and VALUE one of {known}." if known else ".")
            )
        chosen = [job for job in chosen if str(job[key]) == value]
    if not chosen:
        raise ValueError(f"No run has all of {list(only)}.")
    return chosen
