"""Figure 6, right, at the paper's size: batches of 4 for sixty passes, with seeds that no rule has seen.

An experiment of its own, so that its record keeps the rules that were written before its runs.
"""

from dataclasses import replace
from itertools import product

from lnbook.shared import permutation_mnist
from lnbook.training import Job

FIRST, SEEDS = 200, 8  # the condition of the rules `s66-right-*` says why so many


def _jobs(scale: str, seed: int) -> list[Job]:
    paper = scale == "paper"
    settings = {"batch_size": 4, "rate": 1e-3, "epochs": 60 if paper else 0.5, "rows": 60 if paper else 4}
    seeds = range(seed + FIRST, seed + FIRST + (SEEDS if paper else 2))
    return [{"norm": norm, **settings, "seed": s} for s, norm in product(seeds, permutation_mnist.NORMS)]


EXPERIMENT = replace(
    permutation_mnist.EXPERIMENT,
    name="permutation_mnist_right",
    jobs=_jobs,
    graphs=True,
)
