"""What an update costs with each norm: tasks take turns, so that whatever else the machine does hits all."""

import time
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float

from lnbook.ledger.tables import Table
from lnbook.training import Task, step, torch_threads


def seconds(
    tasks: Mapping[str, Task], *, rounds: int, updates: int
) -> dict[str, Float[np.ndarray, " rounds"]]:
    """Processor seconds an update of each task with one thread, in each round after a first, not counted."""
    noise = torch.Generator().manual_seed(0)
    found: dict[str, list[float]] = {name: [] for name in tasks}
    with torch_threads(1):
        for name, task in [*tasks.items()] * (rounds + 1):
            start = time.process_time()
            for _ in range(updates):
                step(task, task.model, next(task.batches), noise)
            found[name].append((time.process_time() - start) / updates)
    return {name: np.array(times[1:]) for name, times in found.items()}


def table(times: Mapping[str, Float[np.ndarray, " rounds"]], names: Mapping[str, str]) -> Table:
    """Medians in milliseconds, and the median quotient by the first task's in the same round."""
    norm, first = next(iter(times.items()))
    head = ["", "Median milliseconds per update", f"Times {names[norm]} in the same round, median"]
    medians = {key: (1e3 * np.median(t), np.median(t / first)) for key, t in times.items()}
    return Table(head, [[names[key], f"{ms:.1f}", f"{ratio:.2f}"] for key, (ms, ratio) in medians.items()])
