"""How much memory a training step takes, measured in a fresh process."""

import ctypes
import gc
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import torch

from lnbook.shared.steps.turns import update
from lnbook.training import Experiment, Job, Machine, Task

__all__ = ["added", "megabytes"]

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def megabytes(experiment: Experiment, scale: str, job: Job) -> float:
    """What an update adds to the memory of a process at its peak, in units of 2^20 bytes; NaN but on Linux.

    That is what the forward pass keeps, the gradients and all scratch; not the data, the weights, or the
    optimizer's averages, which are there between updates too. The process makes one update, gives what is
    free back to the system, reads its resident memory, makes another, and reads the peak.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, experiment.task, job, scale).result()


def _measured(task_of: Callable[[Job, str, Machine], Task], job: Job, scale: str) -> float:
    torch.set_num_threads(1)
    task, noise = task_of(job, scale, Machine()), torch.Generator().manual_seed(0)
    update(task, next(task.batches), noise)
    cases = next(task.batches)
    task.optimizer.zero_grad()
    return added(lambda: update(task, cases, noise))


def added(call: Callable[[], object]) -> float:
    """What a call adds to the resident memory of this process at its peak, in units of 2^20 bytes."""
    gc.collect()
    with suppress(OSError, AttributeError):  # only glibc keeps what is freed, and only it has this
        ctypes.CDLL(None).malloc_trim(0)
    if not RESET.exists():
        return float("nan")
    before = _resident("VmRSS")
    RESET.write_text("5", encoding="ascii")  # the peak begins anew
    call()
    return _resident("VmHWM") - before


def _resident(field: str) -> float:
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))
