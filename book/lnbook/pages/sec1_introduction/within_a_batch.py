"""Section 1, measured in one process: plain descent with and without batch norm, and its noise.

Two networks differ in one thing: in training, the mean and the variance of a summed input are taken over the
mini-batch, or over all training cases, as Eq. (2) says. The loss is that of the mini-batch in both, the first
weights and the order of the cases are the same, and so are the statistics at test time.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook import curves
from lnbook.shared import permutation_mnist as mnist
from lnbook.shared.shift import Cases, Network
from lnbook.training import Job
from lnbook.training.runs import run
from lnlib.norms.batch import batch_norm, batch_norm_by

RATES = (0.1, 0.3, 1.0)
SIZES = {"smoke": (2, 60), "book": (2, 80), "study": (10, 200)}  # seeds, updates


def plain_descents(scale: str, seed: int) -> list[Job]:
    """The runs of both methods at each step size, for `trained`."""
    seeds, updates = SIZES[scale]
    common: dict[str, Any] = {"batch_size": 128, "updates": updates, "rows": updates // 10, "quick": 1000}
    common |= {"whole": False, "optimizer": "sgd", "units": 100}
    return [
        {"norm": norm, **common, "rate": rate, "seed": seed + k}
        for k, norm, rate in product(range(seeds), ("none", "batch"), RATES)
    ]


def trained(jobs: list[Job], scale: str) -> pd.DataFrame:
    """The measurements of Section 6.6's network in these runs; for short ones new processes cost more."""
    runs = run(mnist.EXPERIMENT, scale, jobs=jobs, processes=None if scale == "study" else 1)
    return curves.runs([row for each in runs for row in each.rows])


def train(cases: Cases, seed: int, *, exact: bool, updates: int, units: int = 64) -> Network:
    """Two hidden layers with batch norm, trained on batches of 32; `exact` statistics are of all cases."""
    x, y = cases
    network = Network((x.shape[1], units, units, 10), seed, lambda k, a: batch_norm(a))
    generator = torch.Generator().manual_seed(seed + 1000)
    descent = torch.optim.SGD([p for layer in network.layers for p in layer], lr=0.3)
    for _ in range(updates):
        drawn = torch.randint(len(x), (32,), generator=generator)
        logits = network(x)[0][drawn] if exact else network(x[drawn])[0]
        descent.zero_grad()
        cross_entropy(logits, y[drawn]).backward()
        descent.step()
    return network


@torch.no_grad()
def answers(network: Network, x: Float[Tensor, "N D"], test: Float[Tensor, "M D"]) -> Float[Tensor, "M K"]:
    """The logits of test cases, from now on normalized by the statistics of all training cases x."""

    def by_training_cases(k: int, a: Tensor) -> Tensor:
        variance, mean = torch.var_mean(a[: len(x)], 0, correction=0)
        return batch_norm_by(a, mean, variance)

    network.normalize = by_training_cases
    return network(torch.cat([x, test]))[0][len(x) :]


def wrong_answers(
    cases: Cases, test: Cases, *, seed: int, seeds: int, exact: bool, updates: int, number: int
) -> Float[np.ndarray, " seeds"]:
    """By seed, the share of wrong answers to test cases after `train` on a random `number` of the cases."""
    wrong = []
    for s in range(seed, seed + seeds):
        chosen = torch.randperm(len(cases[0]), generator=torch.Generator().manual_seed(s))[:number]
        x, y = (part[chosen] for part in cases)
        network = train((x, y), s, exact=exact, updates=updates)
        wrong.append(float((answers(network, x, test[0]).argmax(1) != test[1]).double().mean()))
    return np.array(wrong)
