"""The runs of an experiment: one, or as many at a time as there are cores."""

import re
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import torch

from lnbook.data import content_of
from lnbook.data.sources import noted
from lnbook.ledger.provenance import provenance
from lnbook.ledger.rules import digest, load_rules
from lnbook.training.checkpoint import CheckpointError, Outcome, RunFolder, finished
from lnbook.training.graphs import Graph
from lnbook.training.loop import NonFiniteLoss, Run, Step, step, train
from lnbook.training.sweeps import sweep, torch_threads
from lnbook.training.task import Experiment, Job, Machine, Row


def label(job: Job) -> str:
    """A folder's name for a run."""
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
    machine: Machine = Machine(),  # noqa: B008 - it is frozen
    folder: Path | None = None,
    processes: int | None = None,
    verbose: bool = False,
) -> list[Outcome]:
    """Run an experiment's jobs, by default all of the scale, several at a time: the outcomes in their order.

    A run ends early, and says why in `failed`, if its loss is not finite or its folder cannot be used; the
    others go on. `folder` holds one of each run, with its checkpoints; a run that has begun there goes on.
    `processes` are as in `lnbook.training.sweep`, but 1 at scale "smoke", where a run is shorter than the
    start of a process. `verbose` prints a line for each row on stderr.
    """
    jobs = jobs_of(experiment, scale) if jobs is None else jobs
    runs = Runs(experiment, scale, machine, folder, verbose)
    if machine.group.world > 1:
        with torch_threads(1):
            return [runs.one(job) for job in jobs]
    if experiment.graphs and machine.device.type == "cuda":
        with ThreadPoolExecutor(len(jobs)) as pool:
            return list(pool.map(runs.graphed, jobs))
    processes = processes or (1 if scale == "smoke" else None)
    outcomes: list[Outcome] = sweep(runs.attempt, [{"job": job} for job in jobs], processes=processes)
    for data in (data for outcome in outcomes for data in outcome.facts.get("data", [])):
        noted(data)  # a process of its own may have read it; the provenance of this one names it, too
    return outcomes


@dataclass(frozen=True)
class Runs:
    """What the runs of an experiment have in common, and how one or several are made."""

    experiment: Experiment
    scale: str
    machine: Machine
    folder: Path | None = None
    verbose: bool = False

    def attempt(self, job: Job, step: Step = step) -> Outcome:
        """One of many runs: if its folder cannot be used, that is its outcome, and the others go on."""
        try:
            return self.one(job, step)
        except (CheckpointError, OSError) as error:
            return Outcome(job, [], {}, str(error))

    def one(self, job: Job, step: Step = step) -> Outcome:
        """One run in this process or, in a group, in all its processes, the first of which has the folder."""
        started, group = time.perf_counter(), self.machine.group
        with self._place(job) if group.rank == 0 else nullcontext() as kept:
            told: Outcome | None = group.share(finished(kept.path, kept.same) if kept else None)
            if told is not None:
                return told
            task = self.experiment.task(job, self.scale, self.machine)
            log = partial(_tell, label(job), task.updates) if self.verbose else None
            try:
                seed = int(job["seed"])
                done = train(task, seed=seed, machine=self.machine, folder=kept, log=log, step=step)
            except NonFiniteLoss as error:
                done = Run(error.rows, wall_seconds=time.perf_counter() - started, failed=str(error))
            return self._finish(job, kept, done, processes=group.world)

    def graphed(self, job: Job) -> Outcome:
        """One of several runs side by side on a GPU, in a thread of its own."""
        with torch.cuda.stream(torch.cuda.Stream()):
            return self.attempt(job, Graph())

    def _place(self, job: Job) -> RunFolder | nullcontext[None]:
        """The folder of a run, which says what must be the same when it goes on."""
        if self.folder is None:
            return nullcontext()
        same = {**job, "scale": self.scale, "dtype": str(self.machine.dtype)}
        same |= {f"data:{name}": content_of(name) for name in self.experiment.data(job, self.scale)}
        code = {"commit": provenance()["commit"]} | {f"rule {k}": v for k, v in self.rules.items()}
        return RunFolder(self.folder / label(job), same, code)

    def _finish(self, job: Job, kept: RunFolder | None, done: Run, **how: int) -> Outcome:
        facts = provenance(
            scale=self.scale,
            job=dict(job),
            seconds=round(done.wall_seconds, 2),
            dtype=str(self.machine.dtype),
            machine=str(self.machine.device),
            rules=self.rules,
            **how,
        )
        if own := self.experiment.data(job, self.scale):  # another run in this process may have read others
            facts["data"] = [data for data in facts["data"] if data["requested"] in own]
        rows = [{**job, "selected": 0, **row} for row in done.rows]
        rows += [{**job, "selected": 1, **done.selected}] if done.selected else []
        outcome = Outcome(job, rows, facts, done.failed)
        if kept:
            kept.finish(outcome)
        return outcome

    @property
    def rules(self) -> dict[str, str]:
        """The digests of the ledger's rules that these runs are to decide."""
        return _rules_of(f"{self.scale}/{self.experiment.name}")


@cache  # as they were when this process began
def _rules_of(study: str) -> dict[str, str]:
    return {rule.id: digest(rule) for rule in load_rules() if rule.study == study}


def _tell(name: str, updates: int, row: Row) -> None:
    loss = "" if row["train_loss"] is None else f", train_loss {row['train_loss']:.4g}"
    print(f"{name}: update {row['update']}/{updates}, {row['seconds']:.0f} s{loss}", file=sys.stderr)
