"""The training loop of the experiments, its mini-batches, and sweeps over seeds and settings.

Nothing here draws from a global random state: initial weights and the order of the data come from
generators of their own, so that two methods of one seed start from the same weights and see the same
cases in the same order.
"""

import contextlib
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor, nn
from tqdm import tqdm

__all__ = ["NonFiniteLoss", "Row", "cores", "fit", "generators", "minibatches", "sweep", "torch_threads"]

Row = dict[str, Any]


class NonFiniteLoss(ArithmeticError):
    """A loss became NaN or infinite.

    Attributes: `update` (counted from 1), `loss`, `last_finite` (None if there was none), and `rows`, what
    `fit` had recorded until then.
    """

    def __init__(self, update: int, loss: float, last_finite: float | None, rows: list[Row]) -> None:
        super().__init__(update, loss, last_finite, rows)
        self.update, self.loss, self.last_finite, self.rows = update, loss, last_finite, rows

    def __str__(self) -> str:
        before = (
            "there was no finite loss before"
            if self.last_finite is None
            else (f"the last finite loss was {self.last_finite:.6g}")
        )
        return (
            f"The loss became {self.loss} at update {self.update}; {before}. Lower the learning rate, or "
            f"look at the batch of that update."
        )


def generators(seed: int) -> tuple[torch.Generator, torch.Generator]:
    """Two independent CPU generators of one seed: for the initial weights, and for the order of the data.

    >>> weights, order = generators(0)
    >>> weights.initial_seed() != order.initial_seed()
    True
    """
    draw = torch.Generator().manual_seed(seed)
    first, second = torch.randint(2**62, (2,), generator=draw).tolist()
    return torch.Generator().manual_seed(first), torch.Generator().manual_seed(second)


def minibatches(
    x: Shaped[Tensor, "N ..."], y: Int64[Tensor, " N"], batch_size: int, generator: torch.Generator
) -> Iterator[tuple[Shaped[Tensor, "B ..."], Int64[Tensor, " B"]]]:
    """Batches without end: each epoch in a fresh random order, every batch of full size.

    The cases that do not fill a last batch (88 of 55,000 at size 128) are left out of that epoch.

    Raises `ValueError` when a batch is empty or larger than the data.

    >>> x, y = torch.arange(5.0), torch.arange(5)
    >>> batches = minibatches(x, y, 2, torch.Generator().manual_seed(0))
    >>> [next(batches)[1].tolist() for _ in range(3)]
    [[4, 0], [1, 3], [3, 4]]
    """
    cases = len(x)
    if not 1 <= batch_size <= cases:
        raise ValueError(f"A batch holds 1 to {cases} of {cases} cases, not {batch_size}.")
    if len(y) != cases:
        raise ValueError(f"There are {cases} inputs and {len(y)} targets; they must pair up.")
    return _minibatches(x, y, batch_size, generator)


def _minibatches(
    x: Tensor, y: Tensor, batch_size: int, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    while True:
        order = torch.randperm(len(x), generator=generator)
        for chosen in order[: len(x) // batch_size * batch_size].split(batch_size):
            yield x[chosen], y[chosen]


def fit(
    model: nn.Module,
    batches: Iterator[tuple[Tensor, Tensor]],
    loss: Callable[[Tensor, Tensor], Float[Tensor, ""]],
    optimizer: torch.optim.Optimizer,
    *,
    updates: int,
    device: torch.device | str,
    every: int,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    progress: bool | None = None,
) -> list[Row]:
    """Train for a number of updates, and record a row before the first, every so many, and after the last.

    Args:
        model: takes a batch's inputs; already on `device`. It is left in training mode.
        batches: pairs (inputs, targets), moved to `device` here.
        loss: of (outputs, targets), a scalar.
        optimizer: over the model's parameters.
        updates: how many steps.
        device: where to compute; never guessed.
        every: updates from one row to the next.
        evaluate: measures the model, which it finds in evaluation mode and without gradients.
        progress: show a bar on stderr; default: only if stderr is a terminal.

    Returns:
        Rows with `update`, `cases_seen`, `seconds` (training only, evaluation not counted), `train_loss`
        (mean over the updates since the row before, each in training mode before its step; None at
        update 0) and what `evaluate` returns.

    Raises:
        ValueError: no updates, no rows, or fewer batches than updates.
        NonFiniteLoss: with the exact update, found when the row that would hold it is due; so no update
            has to wait for a GPU.
    """
    if updates < 1 or every < 1:
        raise ValueError(f"Both must be at least 1: updates = {updates}, every = {every}.")
    rows: list[Row] = []
    losses: list[Tensor] = []
    last_finite: float | None = None
    cases_seen, seconds = 0, 0.0
    model.train()
    _record(rows, model, evaluate, update=0, cases_seen=0, seconds=0.0, train_loss=None)
    start = time.perf_counter()
    for update in tqdm(range(1, updates + 1), unit="update", leave=False, disable=not _wanted(progress)):
        x, y = _next(batches, update)
        value = loss(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.detach())
        cases_seen += len(x)
        if update % every == 0 or update == updates:
            values = torch.stack(losses).tolist()
            seconds += time.perf_counter() - start
            last_finite = _last_finite(values, update - len(values) + 1, last_finite, rows)
            mean = math.fsum(values) / len(values)
            _record(
                rows, model, evaluate, update=update, cases_seen=cases_seen, seconds=seconds, train_loss=mean
            )
            losses.clear()
            start = time.perf_counter()
    return rows


def _next(batches: Iterator[tuple[Tensor, Tensor]], update: int) -> tuple[Tensor, Tensor]:
    """The next batch; a bare StopIteration would end a caller's loop as if all were well."""
    try:
        return next(batches)
    except StopIteration:
        raise ValueError(f"The batches ended before update {update}; give as many as updates.") from None


def _record(
    rows: list[Row], model: nn.Module, evaluate: Callable[[nn.Module], Mapping[str, float]] | None, **row: Any
) -> None:
    if evaluate is not None:
        model.eval()
        with torch.no_grad():
            row.update(evaluate(model))
        model.train()
    rows.append(row)


def _last_finite(values: list[float], first_update: int, before: float | None, rows: list[Row]) -> float:
    """The last of the values, once all are known to be finite."""
    for update, value in enumerate(values, first_update):
        if not math.isfinite(value):
            raise NonFiniteLoss(update, value, before, rows)
        before = value
    assert before is not None
    return before


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
    bar = tqdm(total=len(jobs), unit="run", leave=False, disable=not _wanted(progress))
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


def _job(job: Mapping[str, Any]) -> Any:
    function, common = _mine
    return function(*common, **job)


def _wanted(progress: bool | None) -> bool:
    return sys.stderr.isatty() if progress is None else progress
