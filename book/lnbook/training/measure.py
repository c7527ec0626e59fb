"""Evaluation: the measures of a task's parts, shared among processes and gathered."""

import torch
from torch import Tensor

from lnbook.training.batches import noise_of
from lnbook.training.distributed import Group
from lnbook.training.task import Cases, Machine, Task

__all__ = ["measures"]


def measures(task: Task, seed: int, machine: Machine, group: Group, *, last: bool) -> dict[str, float]:
    """Every measure of every part, as columns; the number of cases behind them is `<part>_cases`.

    The noise of a chunk of cases depends on the seed and the chunk alone: it is the same at each row, and in
    one process or many.
    """
    parts = task.last_parts if last and task.last_parts is not None else task.parts
    found = dict(task.overall(task.model))
    for part, cases in parts.items():
        whole = task.evaluate(task.model, part, cases)
        values = task.summary(_means(task, cases, seed, machine, group)) if whole is None else whole
        found |= {f"{part}_{name}": float(value) for name, value in values.items()}
        found[f"{part}_cases"] = len(cases[0])
    return found


def _means(task: Task, cases: Cases, seed: int, machine: Machine, group: Group) -> dict[str, Tensor]:
    """Process k takes every world-th chunk from the k-th on; sums are gathered in float64."""
    chunks = list(zip(*(x.split(task.evaluation_batch) for x in cases), strict=True))
    sums: dict[str, Tensor] = {}
    for index, chunk in enumerate(chunks):
        mine = index % group.world == group.rank
        # a process without a chunk must know what to gather: it measures the first, and counts it as nothing
        if mine or (index == 0 and group.rank >= len(chunks)):
            here = tuple(x.to(machine.device, non_blocking=True) for x in chunk)
            found = task.measure(task.model, here, noise_of(seed, -1, index + 1))
            for name, value in found.items():
                value = value.double() if mine else torch.zeros_like(value, dtype=torch.float64)
                sums[name] = sums[name] + value if name in sums else value
    return {name: group.sum(value) / len(cases[0]) for name, value in sums.items()}
