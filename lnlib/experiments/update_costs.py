"""What an update costs with each norm: tasks take turns, so that whatever else the machine does hits all."""

import time
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float

from lnlib.training import Task, torch_threads

__all__ = ["seconds"]


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
