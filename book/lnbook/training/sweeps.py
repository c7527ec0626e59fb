"""Many runs: seeds times settings, in several local processes that end together."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import torch
from tqdm import tqdm

from lnbook.training.signals import HANGUP

__all__ = ["cores", "sweep", "torch_threads"]

# glibc gives the memory of gradients back at every update, and the system clears its pages anew: a sixth of
# the time of a step of 784-1000-1000-10.
_KEEP = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**32)}


def cores() -> int:
    """How many CPU cores this process may use: as many as `LNLIB_CORES` says, if it is set, else all.

    A build that runs several pages at a time gives each its share.
    """
    if share := os.environ.get("LNLIB_CORES"):
        return int(share)
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
    processes: int | None = None,
    progress: bool = False,
) -> list[Any]:
    """`[function(*common, **job) for job in jobs]`, computed by several local processes.

    Results do not depend on the number of processes: each job runs with one torch thread, also with
    `processes=1`, which runs all in this process. Put long jobs first. A script that calls this needs
    Python's usual guard, `if __name__ == "__main__":`; a notebook needs nothing.

    Args:
        function: importable by name (a fresh process imports it: not one defined in a notebook or a shell).
        jobs: keyword arguments, one mapping a job.
        common: arguments of all jobs, sent to each process once: NumPy arrays rather than tensors.
        processes: default `cores()`, and no more than jobs.
        progress: show a bar on stderr.

    Returns:
        The results in the order of the jobs.

    Raises:
        What `function` raises. Other jobs under way are sent SIGTERM then, as they are at Ctrl-C; those that
        have not begun are dropped.
        BrokenProcessPool: a process was killed, perhaps for want of memory.
    """
    processes = min(processes or cores(), len(jobs))
    with tqdm(total=len(jobs), unit="run", leave=False, disable=not progress) as bar:
        if processes > 1:
            return _in_parallel(function, jobs, common, processes, bar)
        results = []
        with torch_threads(1):
            for job in jobs:
                results.append(function(*common, **job))
                bar.update()
        return results


def _in_parallel(
    function: Callable[..., Any],
    jobs: Sequence[Mapping[str, Any]],
    common: tuple[Any, ...],
    processes: int,
    bar: Any,
) -> list[Any]:
    os.environ.update({name: value for name, value in _KEEP.items() if name not in os.environ})
    # spawn: a forked child would inherit the parent's torch threads and locks, and hang on them
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(function, common))
    try:
        futures = [pool.submit(_job, dict(job)) for job in jobs]
        for future in as_completed(futures):
            future.result()
            bar.update()
        return [future.result() for future in futures]
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_mine: tuple[Callable[..., Any], tuple[Any, ...]]  # of a worker process: the function, what all jobs share


def _begin(function: Callable[..., Any], common: tuple[Any, ...]) -> None:
    global _mine
    _mine = function, common
    torch.set_num_threads(1)
    tqdm.set_lock(threading.RLock())  # its own, among processes, would be left behind when this one is ended
    for number in (signal.SIGINT, *HANGUP):  # they reach all; the parent tells its workers to end
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot tell: without this, its workers would go on alone, and hold their runs."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _job(job: Mapping[str, Any]) -> Any:
    function, common = _mine
    try:
        return function(*common, **job)
    except KeyboardInterrupt:  # it was told to end: another job must not begin here
        os._exit(128 + signal.SIGTERM)
