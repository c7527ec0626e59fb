"""What the benchmarks share: options, timing in turn, rows that are shown and kept with their origin."""

import argparse
import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import torch

from lnbook.ledger.provenance import provenance
from lnbook.ledger.rows import book_dir, write_rows

Row = dict[str, str | float]


def run(
    doc: str | None,
    name: str,
    measure: Callable[[int], Iterator[Row]],
    line: str,
    rounds: int,
    digits: int = 3,
) -> None:
    """A benchmark's command: `--rounds` of what it measures, shown in lines, kept with `--record`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep the rows in book/results/benchmarks/")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"of each comparison (default {rounds})")
    args = parser.parse_args()
    rows: list[Row] = []
    for row in measure(args.rounds):
        if not rows:
            print(line.format(*row))
        cells = [f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        print(line.format(*cells), flush=True)
        rows.append(row)
    if args.record:
        facts = provenance(rounds=args.rounds)
        write_rows(name, rows, facts, scale="benchmarks", folder=book_dir() / "results")


def on_one_core() -> None:
    """Let this process use one core: two threads that wait for each other measure a busy machine's load."""
    torch.set_num_threads(1)
    if hasattr(os, "sched_setaffinity"):  # JAX takes every core that it may, whatever its flags say
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])


def in_turn(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    warm_up: int = 2,
    repeat: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Milliseconds of each call in each round; a round makes every call, `repeat` times in succession.

    Where one thread does all the work, the clock may be `time.process_time`: what others take does not count.
    """
    taken: dict[str, list[float]] = {method: [] for method in calls}
    for _ in range(warm_up + rounds):
        for method, call in calls.items():
            start = clock()
            for _ in range(repeat):
                call()
            taken[method].append(1e3 * (clock() - start) / repeat)
    return {method: each[warm_up:] for method, each in taken.items()}


def added(call: Callable[[], object]) -> float:
    """What a call adds to this process's memory at its peak, in units of 2^20 bytes; NaN but on Linux."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    gc.collect()
    if not reset.exists():
        return float("nan")
    with suppress(AttributeError):  # only glibc keeps what is freed, and only it has this
        ctypes.CDLL(None).malloc_trim(0)

    def megabytes(field: str) -> float:
        return int(status.read_text(encoding="ascii").split(f"{field}:")[1].split()[0]) / 1024

    before = megabytes("VmRSS")
    reset.write_text("5", encoding="ascii")  # the peak begins anew
    call()
    return megabytes("VmHWM") - before


def ratio(each: Sequence[float], reference: Sequence[float]) -> float:
    """Median over rounds of the quotient within a round: load on the machine hits both sides."""
    return median(x / y for x, y in zip(each, reference, strict=True))
