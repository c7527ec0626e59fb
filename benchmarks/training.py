"""Speed of training the network of Section 6.6 against plain loops.

    python benchmarks/training.py             print the table (4 minutes on a quiet machine)
    python benchmarks/training.py --record    and keep it in book/results/benchmarks/

784-1000-1000-10 in float32 on MNIST, which is in memory, at the paper's two batch sizes. Evaluation is not
counted. Ratios are medians over rounds in each of which every method runs in turn: `speed` is that of a
DataLoader loop over torch's own layers, `cost` the time over that without a norm. Processor time, on one
core.
"""

import time
from collections.abc import Iterator
from functools import partial
from statistics import median

from rounds import Row, in_turn, on_one_core, ratio, run
from training_peers import PEERS, Norm

from lnbook import data

REFERENCE = "DataLoader"
NORMS: tuple[Norm, ...] = ("none", "layer", "batch")
UPDATES = {128: 20, 4: 60}  # batch size -> updates that are timed together


def measure(rounds: int) -> Iterator[Row]:
    """Every way with every norm, at both batch sizes."""
    on_one_core()
    images = data.load("mnist")
    for batch_size, number in UPDATES.items():
        ways = {f"{norm} {method}": (norm, method) for norm in NORMS for method in PEERS}
        calls = {
            way: partial(PEERS[method](images, norm, batch_size), number)
            for way, (norm, method) in ways.items()
        }
        taken = in_turn(calls, rounds, clock=time.process_time)
        for way, (norm, method) in ways.items():
            ms = median(taken[way]) / number
            yield {
                "batch": batch_size,
                "norm": norm,
                "method": method,
                "ms": ms,
                "cases a second": 1e3 * batch_size / ms,
                "speed": ratio(taken[f"{norm} {REFERENCE}"], taken[way]),
                "cost": ratio(taken[way], taken[f"none {method}"]),
            }


if __name__ == "__main__":
    run(__doc__, "training", measure, "{:>6}{:>8}  {:<27}{:>8}{:>15}{:>8}{:>8}", rounds=9)
