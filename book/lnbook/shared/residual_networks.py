"""Residual networks whose blocks are given: with a norm, with what stands in for one, or with neither.

All networks of a method are computed and trained at once: every parameter has an axis of S networks, one for
each seed and learning rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.shared.digits import Cases
from lnbook.training import generators, torch_threads

Parameters = Mapping[str, Tensor]
BATCH = 32  # cases of a mini-batch
FIXED = ("sigma", "beta", "number")  # parameters that training leaves alone


class Method(NamedTuple):
    """What a block does to the stream, what stands behind the last, and how the parameters as drawn begin.

    What `end` uses has an entry more than there are blocks.
    """

    block: Callable[[Tensor, Parameters], Tensor]
    end: Callable[[Tensor, Parameters], Tensor] = lambda x, p: x
    start: Callable[[Parameters], Parameters] = dict


@dataclass(frozen=True)
class Networks:
    """A linear map into the stream, the parameters of L blocks, and a linear map out of it."""

    method: Method
    seeds: Sequence[int]
    into: Float[Tensor, "S D H"]
    stack: Parameters  # (L, S, ...), or an entry more
    out: Float[Tensor, "S H K"]

    def _places(self) -> list[Parameters]:
        """The parameters of each block, and at the last place those of the end."""
        rows = zip_longest(*(v.unbind() for v in self.stack.values()))
        return [{n: v for n, v in zip(self.stack, row, strict=True) if v is not None} for row in rows]

    def streams(self, x: Float[Tensor, "*S N D"]) -> list[Float[Tensor, "S N H"]]:
        """The stream in front of the first block and behind every block; cases may be each network's own."""
        found = [x @ self.into]
        for p in self._places()[: len(self.stack["W1"])]:
            found.append(self.method.block(found[-1], p))
        return found

    def read(self, x: Float[Tensor, "*S N D"]) -> Float[Tensor, "S N H"]:
        """What the readout reads: the last stream, after what stands behind the blocks."""
        return self.method.end(self.streams(x)[-1], self._places()[-1])

    def logits(self, x: Float[Tensor, "*S N D"]) -> Float[Tensor, "S N K"]:
        """What is read out."""
        return self.read(x) @ self.out

    def double(self) -> Networks:
        """The same networks in float64."""
        stack = {name: values.double() for name, values in self.stack.items()}
        return replace(self, into=self.into.double(), stack=stack, out=self.out.double())


def train(
    networks: Networks,
    cases: Cases,
    rates: Sequence[float],
    updates: int,
    method_at: Callable[[float], Method] | None = None,
    orders: Sequence[torch.Generator] = (),
) -> Networks:
    """Copies of the networks, one a rate of Adam's; the method may depend on the share of updates done.

    `orders` draw the cases of each seed; default: the seed's own.
    """
    x, y = cases
    orders = orders or [generators(seed)[1] for seed in networks.seeds]
    parts = {"into": networks.into, "out": networks.out, **networks.stack}
    copies = [{n: v.detach().clone().requires_grad_(n not in FIXED) for n, v in parts.items()} for _ in rates]
    groups = [{"params": [*c.values()], "lr": rate} for c, rate in zip(copies, rates, strict=True)]
    optimizer = torch.optim.Adam(groups)
    axes = dict.fromkeys(parts, 1) | {"into": 0, "out": 0}  # of networks

    def together(method: Method) -> Networks:
        """The networks of all rates as one."""
        values = {name: torch.cat([c[name] for c in copies], axis) for name, axis in axes.items()}
        into, out = values.pop("into"), values.pop("out")
        return Networks(method, networks.seeds, into, values, out)

    with torch_threads(1):
        for update in range(updates):
            chosen = torch.stack([torch.randint(len(y), (BATCH,), generator=g) for g in orders])
            chosen = chosen.repeat(len(rates), 1)
            now = method_at(update / updates) if method_at else networks.method
            logits = together(now).logits(x[chosen])
            loss = cross_entropy(logits.flatten(0, 1), y[chosen].flatten(), reduction="sum") / BATCH
            optimizer.zero_grad()
            loss.backward()  # the sum of the networks' losses: none feels another
            optimizer.step()
        with torch.no_grad():
            return together(networks.method)


def scores(
    networks: Networks, cases: Cases
) -> tuple[Float[np.ndarray, "rates seeds"], Float[np.ndarray, "rates seeds"]]:
    """Mean loss (nats) and share of right answers on cases; NaN is no right answer."""
    x, y = cases
    with torch_threads(1), torch.no_grad():
        logits = networks.logits(x).double()
        loss = torch.stack([cross_entropy(z, y) for z in logits])
        right = ((logits.argmax(-1) == y) & logits.isfinite().all(-1)).double().mean(-1)
    shape = -1, len(networks.seeds)
    return loss.view(shape).numpy(), right.view(shape).numpy()
