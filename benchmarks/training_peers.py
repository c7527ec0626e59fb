"""Ways to train the network of Section 6.6, as others write them and ours.

Each takes the pictures, a norm and a batch size, and returns a function that makes one update, or many.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from lnbook.data import Images
from lnbook.shared.permutation_mnist import Classification
from lnbook.training import Machine, train

Norm = Literal["none", "layer", "batch"]
Updates = Callable[[int], object]  # makes so many updates
Batches = Iterator[Sequence[Tensor]]

HIDDEN = (1000, 1000)


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


def cases(images: Images) -> TensorDataset:
    """Pixels from 0 to 1 in float32, made once."""
    return TensorDataset(*map(torch.from_numpy, images.flat("train")))


def loaded(images: Images, batch_size: int) -> Batches:
    """A DataLoader in the same process: example by example, then put together."""
    loader = DataLoader(cases(images), batch_size, shuffle=True, drop_last=True)
    for _ in count():
        yield from loader


def indexed(images: Images, batch_size: int) -> Batches:
    """Tensors indexed by a shuffled batch of numbers."""
    x, y = cases(images).tensors
    for _ in count():
        order = torch.randperm(len(x))
        for chosen in order[: len(x) // batch_size * batch_size].split(batch_size):
            yield x[chosen], y[chosen]


def plain(
    images: Images,
    norm: Norm,
    batch_size: int,
    *,
    batches: Callable[[Images, int], Batches],
    fused: bool | None = None,
) -> Updates:
    """A loop over batches with Adam."""
    model = sequential(_units(images), norm)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
    source = batches(images, batch_size)

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


def _units(images: Images) -> tuple[int, ...]:
    return images.train_x[0].size, *HIDDEN, int(images.train_y.max()) + 1


PEERS: dict[str, Callable[[Images, Norm, int], Updates]] = {
    "DataLoader": partial(plain, batches=loaded),
    "index batches, fused Adam": partial(plain, batches=indexed, fused=True),
    "lnlib": engine,
}
