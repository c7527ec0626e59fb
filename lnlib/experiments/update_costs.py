"""What an update costs with each norm: tasks take turns, so that whatever else the machine does hits all."""

import time
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float

from lnlib.results import Table
from lnlib.training import Task, torch_threads

__all__ = ["seconds", "table"]


def seconds(
    tasks: Mapping[str, Task], *, rounds: int, updates: int, threads: int = 1
) -> dict[str, Float[np.ndarray, " rounds"]]:
    """Seconds an update of each task, in each round: forward, backward and the optimizer's step.

    Args:
        tasks: by name; their models move on.
        rounds: each lets every task make so many `updates`; one round before them is not counted.
        updates: of a task in a round.
        threads: of torch; as many as before afterwards.
    """
    noise = torch.Generator().manual_seed(0)
    found: dict[str, list[float]] = {name: [] for name in tasks}
    with torch_threads(threads):
        for name, task in [*tasks.items()] * (rounds + 1):
            start = time.perf_counter()
            for _ in range(updates):
                task.optimizer.zero_grad()
                task.loss(task.model, next(task.batches), noise).backward()
                task.optimizer.step()
            found[name].append((time.perf_counter() - start) / updates)
    return {name: np.array(times[1:]) for name, times in found.items()}


def table(times: Mapping[str, Float[np.ndarray, " rounds"]], names: Mapping[str, str]) -> Table:
    """Medians in milliseconds, and their quotients, round by round, by the first task's."""
    first = next(iter(times.values()))
    lines = [
        [names[key], f"{1e3 * np.median(t):.1f}", f"{np.median(t / first):.2f}"] for key, t in times.items()
    ]
    return Table(["", "Milliseconds an update", f"Times {names[next(iter(times))]}"], lines)
