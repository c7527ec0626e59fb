"""Speed of training the network of Section 6.6, as others write it and ours.

    python benchmarks/training.py             print the table (4 minutes on a quiet machine)
    python benchmarks/training.py --record    and keep it in book/results/benchmarks/

784-1000-1000-10 in float32 on MNIST, which is in memory, at the paper's two batch sizes. Evaluation is not
counted. Ratios are medians over rounds in each of which every method runs in turn: `speed` is that of a
DataLoader loop over torch's own layers, `cost` the time over that without a norm. Processor time, on one
core.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, pairwise
from statistics import median
from typing import Literal

import torch
import torch.nn.functional as F
from rounds import Row, in_turn, on_one_core, ratio, run
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from lnbook import data
from lnbook.data import Images
from lnbook.shared.permutation_mnist import Classification
from lnbook.training import Machine, train

Norm = Literal["none", "layer", "batch"]
Updates = Callable[[int], object]  # makes so many updates
Batches = Iterator[Sequence[Tensor]]

REFERENCE = "DataLoader"
NORMS: tuple[Norm, ...] = ("none", "layer", "batch")
UPDATES = {128: 20, 4: 60}  # batch size -> updates that are timed together
HIDDEN = (1000, 1000)


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


def loaded(cases: TensorDataset, batch_size: int) -> Batches:
    """A DataLoader in the same process: example by example, then put together."""
    loader = DataLoader(cases, batch_size, shuffle=True, drop_last=True)
    for _ in count():
        yield from loader


def indexed(cases: TensorDataset, batch_size: int) -> Batches:
    """Tensors indexed by a shuffled batch of numbers."""
    x, y = cases.tensors
    for _ in count():
        order = torch.randperm(len(x))
        for chosen in order[: len(x) // batch_size * batch_size].split(batch_size):
            yield x[chosen], y[chosen]


def plain(
    images: Images,
    norm: Norm,
    batch_size: int,
    *,
    batches: Callable[[TensorDataset, int], Batches],
    fused: bool | None = None,
) -> Updates:
    """A loop over batches with Adam."""
    model = sequential((images.train_x[0].size, *HIDDEN, int(images.train_y.max()) + 1), norm)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
    source = batches(TensorDataset(*map(torch.from_numpy, images.flat("train"))), batch_size)

    def updates(number: int) -> None:
        for _ in range(number):
            update(model, optimizer, next(source))

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
    "DataLoader": partial(plain, batches=loaded),
    "index batches, fused Adam": partial(plain, batches=indexed, fused=True),
    "lnlib": engine,
}


if __name__ == "__main__":
    run(__doc__, "training", measure, "{:>6}{:>8}  {:<27}{:>8}{:>15}{:>8}{:>8}", rounds=9)
