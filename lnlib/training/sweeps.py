"""Many runs: seeds times settings, in several local processes."""

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any

import torch
from tqdm import tqdm

__all__ = ["cores", "memory_kept", "sweep", "torch_threads", "wanted"]

_KEEP = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**32)}


def cores() -> int:
    """How many CPU cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Let torch use so many threads inside the `with`, and as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def sweep(
    function: Callable[..., Any],
    jobs: Sequence[Mapping[str, Any]],
    *,
    common: tuple[Any, ...] = (),
    threads: int = 1,
    processes: int | None = None,
    progress: bool | None = None,
) -> list[Any]:
    """`[function(*common, **job) for job in jobs]`, computed by several local processes.

    Results do not depend on the number of processes: each job runs with the same number of torch threads,
    also with `processes=1`, which runs all in this process. Put long jobs first. A script that calls this
    needs Python's usual guard, `if __name__ == "__main__":`; a notebook needs nothing.

    Args:
        function: importable by name (a fresh process imports it: not one defined in a notebook or a shell).
        jobs: keyword arguments, one mapping a job.
        common: arguments of all jobs, sent to each process once: NumPy arrays rather than tensors.
        threads: of torch, for each job.
        processes: default `cores() // threads`, and no more than jobs.
        progress: show a bar on stderr; default: only if stderr is a terminal.

    Returns:
        The results in the order of the jobs.

    Raises:
        What `function` raises; jobs that have not begun are dropped.
    """
    if processes is None:
        processes = max(1, cores() // threads)
    processes = min(processes, len(jobs))
    bar = tqdm(total=len(jobs), unit="run", leave=False, disable=not wanted(progress))
    with bar:
        if processes <= 1:
            return _in_turn(function, jobs, common, threads, bar)
        return _in_parallel(function, jobs, common, threads, processes, bar)


def _in_turn(
    function: Callable[..., Any],
    jobs: Sequence[Mapping[str, Any]],
    common: tuple[Any, ...],
    threads: int,
    bar: Any,
) -> list[Any]:
    results = []
    with torch_threads(threads):
        for job in jobs:
            results.append(function(*common, **job))
            bar.update()
    return results


def _in_parallel(
    function: Callable[..., Any],
    jobs: Sequence[Mapping[str, Any]],
    common: tuple[Any, ...],
    threads: int,
    processes: int,
    bar: Any,
) -> list[Any]:
    # spawn: a forked child would inherit the parent's torch threads and locks, and hang on them
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(function, common, threads))
    try:
        with memory_kept():
            futures: list[Future[Any]] = [pool.submit(_job, dict(job)) for job in jobs]
        for future in as_completed(futures):
            future.result()
            bar.update()
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)


_mine: tuple[
    Callable[..., Any], tuple[Any, ...]
]  # of a worker process: the function and its common arguments


def _begin(function: Callable[..., Any], common: tuple[Any, ...], threads: int) -> None:
    global _mine
    _mine = function, common
    torch.set_num_threads(threads)


@contextlib.contextmanager
def memory_kept() -> Iterator[None]:
    """Processes started inside keep freed memory; by default glibc gives gradients back at every update.

    The system then clears their pages anew: a sixth of the time of a step of 784-1000-1000-10.
    """
    before = {name: os.environ.get(name) for name in _KEEP}
    os.environ.update({name: value for name, value in _KEEP.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]


def _job(job: Mapping[str, Any]) -> Any:
    function, common = _mine
    return function(*common, **job)


def wanted(progress: bool | None) -> bool:
    """Whether to show a bar: as asked, else if stderr is a terminal."""
    return sys.stderr.isatty() if progress is None else progress
