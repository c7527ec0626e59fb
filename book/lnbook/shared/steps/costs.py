"""What an update of an experiment costs: its time, where that goes, its memory, its padding."""

import time
from collections.abc import Sequence

import numpy as np

from lnbook.ledger.tables import Table
from lnbook.shared.steps.memory import megabytes
from lnbook.shared.steps.profile import PARTS, shares
from lnbook.shared.steps.turns import seconds
from lnbook.training import Experiment, Job, LengthBatches, Machine, Row
from lnbook.training.runs import jobs_of, label

__all__ = ["one_of_each_norm", "step_costs", "table"]

NAMES = {
    "recurrence": "Recurrence",
    "products": "Other products",
    "operations": "Other operations",
    "optimizer": "Optimizer",
    "rest": "Rest",
}


def one_of_each_norm(experiment: Experiment, scale: str, **settings: object) -> list[Job]:
    """The experiment's first job with each norm, of those that have these settings."""
    found: dict[str, Job] = {}
    for job in jobs_of(experiment, scale):
        if all(job.get(key) == value for key, value in settings.items()):
            found.setdefault(job["norm"], job)
    return list(found.values())


def step_costs(
    experiment: Experiment,
    scale: str,
    jobs: Sequence[Job] | None = None,
    *,
    rounds: int = 5,
    updates: int = 2,
    memory: bool = False,
) -> list[Row]:
    """Measure one update of each of these runs: on the CPU, in float32, with one thread, in turn.

    For each job, by default `one_of_each_norm`, there is a row: its settings; `ms`, processor time of an
    update in milliseconds, the median of the rounds; `ratios` to the first job's, a quotient within each
    round; `ratio`, their median, `ratio_low` and `ratio_high`, their least and largest; the share of each
    part of an update, `PARTS` of `lnbook.shared.steps.profile`; `padding`, the share of padding in an
    epoch's batches, 0 where nothing is padded; and, if asked for, `step_mb` of
    `lnbook.shared.steps.memory`.
    """
    chosen = one_of_each_norm(experiment, scale) if jobs is None else list(jobs)
    tasks = {label(job): experiment.task(job, scale, Machine()) for job in chosen}
    times = seconds(tasks, rounds=rounds, updates=updates, clock=time.process_time)
    first = times[label(chosen[0])]
    rows = []
    for job in chosen:
        task, taken = tasks[label(job)], times[label(job)]
        ratios = taken / first
        row: Row = {**job, "ms": 1e3 * float(np.median(taken)), "ratio": float(np.median(ratios))}
        row["ratios"] = ratios.tolist()
        row |= {"ratio_low": float(ratios.min()), "ratio_high": float(ratios.max())}
        row |= shares(task, updates=rounds)
        row["padding"] = task.batches.padding() if isinstance(task.batches, LengthBatches) else 0.0
        rows.append(row)
    if memory:
        tasks.clear()  # one set of data at a time
        for job, row in zip(chosen, rows, strict=True):
            row["step_mb"] = megabytes(experiment, scale, job)
    return rows


def table(rows: Sequence[Row], names: dict[str, str]) -> Table:
    """The rows of `step_costs` for a page: one line per norm, by its name; shares in percent."""
    memory = ["Step's memory (MB)"] if "step_mb" in rows[0] else []
    lines = []
    for row in rows:
        line = [names[row["norm"]], f"{row['ms']:.1f}", f"{row['ratio']:.2f}"]
        line += [f"{100 * row[part]:.0f}" for part in PARTS]
        lines.append([*line, *([f"{row['step_mb']:,.0f}"] if memory else [])])
    header = ["", "Milliseconds", f"Times {names[rows[0]['norm']]}", *(f"{n} (%)" for n in NAMES.values())]
    return Table([*header, *memory], lines)
