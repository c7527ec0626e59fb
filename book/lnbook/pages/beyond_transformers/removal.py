"""Deep networks learn the digits of scikit-learn; then one block at a time is left out.

All networks of a placement train at once, a network a seed: weights have a leading axis for it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_transformers.residual_gradients import Place, Weights, draw, streams
from lnbook.shared.digits import Cases
from lnbook.training import torch_threads
from lnlib.norms import layer_norm

BATCH = 32  # cases of a mini-batch
Size = tuple[int, int, int, float]  # blocks, units, updates, Adam's learning rate
SIZES = {"smoke": (6, 16, 40, 3e-3), "book": (12, 32, 200, 2e-3), "study": (12, 32, 200, 2e-3)}


class Networks(NamedTuple):
    """S networks: a linear map into the stream, the blocks, a layer norm and a linear map out of it."""

    place: Place
    into: Float[Tensor, "S D H"]
    blocks: list[Weights]
    out: Float[Tensor, "S H 10"]

    def logits(self, x: Float[Tensor, "*S N D"], without: int = 0) -> Float[Tensor, "S N 10"]:
        """Of cases, which may be each network's own, with all blocks or without one."""
        stream = streams(self.place, self.blocks, x @ self.into, without)[-1]
        return layer_norm(stream, eps=0.0) @ self.out


def train(place: Place, cases: Cases, seeds: Sequence[int], size: Size) -> Networks:
    """Networks after Adam; those of a seed begin with the same weights and see the same cases anywhere."""
    (x, y), (depth, width, updates, rate) = cases, size
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def linear(rows: int, columns: int) -> Tensor:
        drawn = [torch.randn(rows, columns, generator=g) for g in generators]
        return torch.stack(drawn) / math.sqrt(rows)

    stacks = [draw(depth, width, g) for g in generators]
    flat = [torch.stack(Ws).float() for block in zip(*stacks, strict=True) for Ws in zip(*block, strict=True)]
    parameters = [linear(x.shape[1], width), *flat, linear(width, 10)]
    blocks = list(zip(flat[::2], flat[1::2], strict=True))
    networks = Networks(place, parameters[0], blocks, parameters[-1])
    for W in parameters:
        W.requires_grad_()
    optimizer = torch.optim.Adam(parameters, lr=rate)
    with torch_threads(1):
        for _ in range(updates):
            chosen = torch.stack([torch.randint(len(y), (BATCH,), generator=g) for g in generators])
            loss = cross_entropy(networks.logits(x[chosen]).flatten(0, 1), y[chosen].flatten())
            optimizer.zero_grad()
            (len(seeds) * loss).backward()  # the sum of the networks' losses: none feels another
            optimizer.step()
    for W in parameters:
        W.requires_grad_(False)
    return networks


def losses(networks: Networks, cases: Cases, without: int = 0) -> Float[np.ndarray, " S"]:
    """Mean loss (nats) of every network, with all its blocks or without one."""
    x, y = cases
    with torch_threads(1):
        logits = networks.logits(x, without).double()
    return np.array([float(cross_entropy(z, y)) for z in logits])


def cost(networks: Networks, cases: Cases) -> Float[np.ndarray, "S depth"]:
    """The loss without block k less the loss with all, for every k."""
    whole, *less = (losses(networks, cases, number) for number in range(len(networks.blocks) + 1))
    return np.stack(less, 1) - whole[:, None]
