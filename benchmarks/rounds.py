"""What the benchmarks share: options, timing in turn, rows that are shown and kept with their origin."""

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from lnbook.ledger.rows import book_dir, write_rows

Row = dict[str, str | float]


def parser(doc: str | None, rounds: int, of: str = "each comparison") -> argparse.ArgumentParser:
    """What every recorded benchmark takes: `--record`, and `--rounds` with its default."""
    found = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--record", action="store_true", help="keep the rows in book/results/benchmarks/")
    found.add_argument("--rounds", type=int, default=rounds, help=f"rounds of {of} (default {rounds})")
    return found


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


def ratio(each: Sequence[float], reference: Sequence[float]) -> float:
    """Median over rounds of the quotient within a round: load on the machine hits both sides."""
    return median(x / y for x, y in zip(each, reference, strict=True))


def shown(rows: Iterable[Row], line: str, digits: int = 3) -> list[Row]:
    """The rows, each printed as it comes, below their names."""
    found: list[Row] = []
    for row in rows:
        if not found:
            print(line.format(*row))
        cells = [f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        print(line.format(*cells), flush=True)
        found.append(row)
    return found


def record(name: str, rows: Sequence[Row], facts: Mapping[str, object]) -> None:
    """Keep the rows and their provenance in book/results/benchmarks/."""
    book = book_dir()
    if book is None:
        raise SystemExit("--record writes to the checkout's book/results/benchmarks/; run it from a checkout")
    write_rows(name, rows, facts, scale="benchmarks", folder=book / "results")
