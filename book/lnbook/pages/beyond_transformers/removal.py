"""Deep networks learn the digits of scikit-learn; then one block at a time is left out.

All networks of a placement train at once, a network a seed: weights have a leading axis for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_transformers.stacks import Place, Weights, draw, streams
from lnbook.shared.digits import Cases
from lnbook.training import torch_threads
from lnlib.norms import layer_norm


@dataclass(frozen=True)
class Size:
    """Blocks, units, updates, cases of a mini-batch, Adam's learning rate."""

    depth: int
    width: int
    updates: int
    batch: int
    rate: float


_FULL = Size(12, 32, 200, 32, 2e-3)
SIZES = {"smoke": Size(6, 16, 40, 32, 3e-3), "book": _FULL, "study": _FULL}


@dataclass(frozen=True)
class Networks:
    """S networks: a linear map into the stream, the blocks, a layer norm and a linear map out of it."""

    into: Float[Tensor, "S D H"]
    blocks: list[Weights]
    out: Float[Tensor, "S H 10"]

    def logits(self, place: Place, x: Tensor, without: int | None = None) -> Tensor:
        """(S, N, 10) for cases (N, D), or (S, N, D) where each network has its own."""
        stream = streams(place, self.blocks, x @ self.into, without)[-1]
        return layer_norm(stream, eps=0.0) @ self.out


def train(place: Place, cases: Cases, seeds: Sequence[int], size: Size) -> Networks:
    """Networks after Adam; those of a seed begin with the same weights and see the same cases anywhere."""
    x, y = cases
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    networks = _start(x.shape[1], generators, size)
    parameters = [networks.into, *(W for pair in networks.blocks for W in pair), networks.out]
    for W in parameters:
        W.requires_grad_()
    optimizer = torch.optim.Adam(parameters, lr=size.rate)
    with torch_threads(1):
        for _ in range(size.updates):
            chosen = torch.stack([torch.randint(len(y), (size.batch,), generator=g) for g in generators])
            logits = networks.logits(place, x[chosen])
            loss = cross_entropy(logits.flatten(0, 1), y[chosen].flatten())
            optimizer.zero_grad()
            (len(seeds) * loss).backward()  # the sum of the networks' losses: none feels another
            optimizer.step()
    for W in parameters:
        W.requires_grad_(False)
    return networks


def losses(
    networks: Networks, place: Place, cases: Cases, without: int | None = None
) -> Float[np.ndarray, " S"]:
    """Mean loss (nats) of every network, with all its blocks or without one."""
    x, y = cases
    with torch_threads(1), torch.no_grad():
        logits = networks.logits(place, x, without).double()
    return np.array([float(cross_entropy(z, y)) for z in logits])


def cost(networks: Networks, place: Place, cases: Cases) -> Float[np.ndarray, "S depth"]:
    """The loss without block k less the loss with all, for every k."""
    numbers = range(1, len(networks.blocks) + 1)
    whole = losses(networks, place, cases)
    return np.stack([losses(networks, place, cases, number) - whole for number in numbers], 1)


def late_share(costs: Float[np.ndarray, "S depth"]) -> Float[np.ndarray, " S"]:
    """The last third's part of the sum of costs; 1/3 if all blocks cost alike."""
    return costs[:, -costs.shape[1] // 3 :].sum(1) / costs.sum(1)


def _start(inputs: int, generators: Sequence[torch.Generator], size: Size) -> Networks:
    """Blocks as in `stacks`; the maps in and out have variance 1 over their inputs."""

    def linear(rows: int, columns: int) -> Tensor:
        drawn = [torch.randn(rows, columns, generator=g) for g in generators]
        return torch.stack(drawn) / math.sqrt(rows)

    stacks = [draw(size.depth, size.width, g) for g in generators]
    blocks = [
        (torch.stack([W1 for W1, _ in pairs]).float(), torch.stack([W2 for _, W2 in pairs]).float())
        for pairs in zip(*stacks, strict=True)  # a block of every network
    ]
    return Networks(linear(inputs, size.width), blocks, linear(size.width, 10))
