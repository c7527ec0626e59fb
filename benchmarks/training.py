"""What a norm costs in training the network of Section 6.6, in a plain loop and in ours.

    python benchmarks/training.py             print the table (3 minutes on a quiet machine)
    python benchmarks/training.py --record    and keep it in book/results/benchmarks/

784-1000-1000-10 in float32 on MNIST, which is in memory, at the paper's two batch sizes. Evaluation is not
counted. `cost` is the time over that without a norm, the median over rounds in each of which every method
runs in turn. Processor time, on one core.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Literal

import torch
import torch.nn.functional as F
from rounds import Row, in_turn, on_one_core, ratio, run
from torch import Tensor, nn

from lnbook import data
from lnbook.data import Images
from lnbook.shared.permutation_mnist import Classification
from lnbook.training import Machine, train

Norm = Literal["none", "layer", "batch"]
Updates = Callable[[int], object]  # makes so many updates

NORMS: tuple[Norm, ...] = ("none", "layer", "batch")
UPDATES = {128: 20, 4: 60}  # batch size -> updates that are timed together
HIDDEN = (1000, 1000)


def measure(rounds: int) -> Iterator[Row]:
    """Both ways with every norm, at both batch sizes."""
    on_one_core()
    images = data.load("mnist")
    for batch_size, number in UPDATES.items():
        ways = [(norm, method) for norm in NORMS for method in PEERS]
        calls = {
            f"{norm} {method}": partial(PEERS[method](images, norm, batch_size), number)
            for norm, method in ways
        }
        taken = in_turn(calls, rounds, clock=time.process_time)
        for norm, method in ways:
            each = taken[f"{norm} {method}"]
            row: Row = {"batch": batch_size, "norm": norm, "method": method, "ms": median(each) / number}
            yield row | {"cost": ratio(each, taken[f"none {method}"])}


def sequential(units: Sequence[int], norm: Norm) -> nn.Sequential:
    """The network in torch's own layers, and with the parameters of the experiment's."""
    layers: list[nn.Module] = []
    for level, (inputs, outputs) in enumerate(pairwise(units)):
        last = level == len(units) - 2
        normalized = norm == "batch" or (norm == "layer" and not last)
        layers.append(nn.Linear(inputs, outputs, bias=not normalized))
        if normalized:
            layers.append(nn.BatchNorm1d(outputs) if norm == "batch" else nn.LayerNorm(outputs))
        if not last:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def update(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Sequence[Tensor]) -> float:
    """The loop's body as every tutorial has it."""
    x, y = batch
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def shuffled(x: Tensor, y: Tensor, batch_size: int) -> Iterator[Sequence[Tensor]]:
    """Batches without end, of tensors indexed by numbers in random order."""
    while True:
        order = torch.randperm(len(x))
        for chosen in order[: len(x) // batch_size * batch_size].split(batch_size):
            yield x[chosen], y[chosen]


def plain(images: Images, norm: Norm, batch_size: int) -> Updates:
    """A loop over indexed batches with fused Adam."""
    model = sequential((images.train_x[0].size, *HIDDEN, int(images.train_y.max()) + 1), norm)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    x, y = images.flat("train")
    batches = shuffled(torch.from_numpy(x), torch.from_numpy(y), batch_size)

    def updates(number: int) -> None:
        for _ in range(number):
            update(model, optimizer, next(batches))

    return updates


def engine(images: Images, norm: Norm, batch_size: int) -> Updates:
    """Ours: the experiment under `lnbook.training`, without its evaluations."""
    task = Classification(images, HIDDEN, Machine(), norm=norm, batch_size=batch_size, seed=0, rows=1)
    task.select, task.parts, task.last_parts = None, {}, None

    def updates(number: int) -> None:
        task.updates = task.every = number
        train(task)

    return updates


PEERS: dict[str, Callable[[Images, Norm, int], Updates]] = {
    "index batches, fused Adam": plain,
    "lnlib": engine,
}


if __name__ == "__main__":
    run(__doc__, "training", measure, "{:>6}{:>8}  {:<27}{:>8}{:>8}", rounds=9)
