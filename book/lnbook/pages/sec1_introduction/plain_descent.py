"""Section 1, measured: does batch norm's speed-up need a clever optimizer, or is it there with plain SGD?

The network of `lnbook.shared.permutation_mnist`, two hidden layers of 100 units, trained without momentum at
batch size 128, once without a norm and once with batch norm, each at several step sizes.
"""

from itertools import product
from typing import Any

from lnbook.training import Job

BATCH, RATES = 128, (0.1, 0.3, 1.0)
SIZES = {"smoke": (2, 60), "book": (2, 80), "study": (10, 200)}  # seeds, updates


def jobs(scale: str, seed: int) -> list[Job]:
    """The runs of both methods at each step size, for `lnbook.training.runs.run`.

    >>> len(jobs("book", 0)), jobs("book", 0)[0]["optimizer"]
    (12, 'sgd')
    """
    seeds, updates = SIZES[scale]
    common: dict[str, Any] = {"batch_size": BATCH, "updates": updates, "rows": updates // 10, "quick": 1000}
    common |= {"whole": False, "optimizer": "sgd", "units": 100}
    return [
        {"norm": norm, **common, "rate": rate, "seed": seed + k}
        for k, norm, rate in product(range(seeds), ("none", "batch"), RATES)
    ]
