"""Many runs: seeds times settings, in several local processes that end together."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import torch
from tqdm import tqdm

from lnbook.training.errors import ProcessLost
from lnbook.training.signals import HANGUP
from lnbook.training.streams import steady

__all__ = ["bar_position", "cores", "sweep", "torch_threads", "wanted"]

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
        What `function` raises. Other jobs under way are sent SIGTERM then, as they are at Ctrl-C; those that
        have not begun are dropped.
        ProcessLost: a process was killed, perhaps for want of memory.
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
    places, lock = context.SimpleQueue(), context.RLock()
    for place in range(1, processes + 1):
        places.put(place)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        processes, context, initializer=_begin, initargs=(function, common, threads, places, lock)
    )
    try:
        with _memory_kept():
            futures: list[Future[Any]] = [pool.submit(_job, dict(job)) for job in jobs]
        for future in as_completed(futures):
            future.result()
            bar.update()
        return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise ProcessLost("A process of the sweep was killed, perhaps for want of memory.") from error
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


# Of a worker process: the function and its common arguments, and the line of its bar.
_mine: tuple[Callable[..., Any], tuple[Any, ...]]
_place = 0
_streams = contextlib.ExitStack()  # which stays open for as long as the process lives


def _begin(
    function: Callable[..., Any], common: tuple[Any, ...], threads: int, places: Any, lock: Any
) -> None:
    global _mine, _place
    _mine, _place = (function, common), places.get()
    tqdm.set_lock(lock)
    torch.set_num_threads(threads)
    _streams.enter_context(steady())
    for number in (signal.SIGINT, *HANGUP):  # they reach all; the parent tells its workers to end
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot tell: without this, its workers would go on alone, and hold their runs."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def bar_position() -> int:
    """The line of this process's bar below those of the processes beside it."""
    return _place


@contextlib.contextmanager
def _memory_kept() -> Iterator[None]:
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
    try:
        return function(*common, **job)
    except KeyboardInterrupt:  # it was told to end: another job must not begin here
        os._exit(128 + signal.SIGTERM)


def wanted(progress: bool | None) -> bool:
    """Whether to show a bar: as asked, else if stderr is a terminal."""
    return sys.stderr.isatty() if progress is None else progress
