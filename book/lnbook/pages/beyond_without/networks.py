r"""Residual networks whose blocks are given: with a norm, with what stands in for one, or with neither.

All networks of a method are computed and trained at once: every parameter has an axis of S networks, one for
each seed and learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from lnbook.shared.digits import Cases
from lnbook.training import generators, torch_threads

Parameters = Mapping[str, Tensor]
BATCH = 32  # cases of a mini-batch


class Method(NamedTuple):
    """What a block does to the stream, what stands behind the last, and how the parameters as drawn begin.

    These are `W1` (L, S, H, 2H) of variance 2/H and `W2` (L, S, 2H, H) of variance 1/(2H). What `end` uses
    has an entry more than there are blocks.
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
    fixed: Parameters = field(default_factory=dict)  # what training leaves alone

    def _places(self) -> list[Parameters]:
        """The parameters of each block, and at the last place those of the end."""
        values = {**self.stack, **self.fixed}
        rows = zip_longest(*(v.unbind() for v in values.values()))
        return [{n: v for n, v in zip(values, row, strict=True) if v is not None} for row in rows]

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
        stack, fixed = ({n: v.double() for n, v in p.items()} for p in (self.stack, self.fixed))
        return replace(self, into=self.into.double(), stack=stack, out=self.out.double(), fixed=fixed)


def begin(
    method: Method, depth: int, width: int, seeds: Sequence[int], dtype: torch.dtype = torch.float32
) -> Networks:
    """Networks before training. Those of a seed have the same weights with every method; readouts are 0."""
    drawn = [generators(seed)[0] for seed in seeds]

    def normal(*shape: int, variance: float) -> Tensor:
        each = [torch.randn(*shape, generator=g, dtype=torch.float64) for g in drawn]
        return (math.sqrt(variance) * torch.stack(each, -3)).to(dtype)

    into = normal(64, width, variance=1 / 64)
    W1 = normal(depth, width, 2 * width, variance=2 / width)
    W2 = normal(depth, 2 * width, width, variance=1 / (2 * width))
    out = into.new_zeros(len(seeds), width, 10)
    return Networks(method, seeds, into, method.start({"W1": W1, "W2": W2}), out)


def first_step(networks: Networks) -> tuple[Float[Tensor, " S"], dict[str, Float[Tensor, " S"]]]:
    r"""Before training: the mean square of what is read, y, and how far a small step moves it.

    For each kind of parameters $\lVert\nabla_\theta\,r^\top y\rVert^2$, the change of $r^\top y$ per rate, r
    random of length 1, one case a seed. *Source* Zhang et al. (2019), Section 3.
    """
    into, orders = networks.into, [generators(seed)[1] for seed in networks.seeds]
    x, r = (
        torch.stack([torch.randn(1, n, generator=g, dtype=torch.float64) for g in orders]).to(into)
        for n in into.shape[1:]
    )
    leaves = {name: values.detach().requires_grad_() for name, values in networks.stack.items()}
    y = replace(networks, stack=leaves).read(x)
    along = (normalize(r, dim=-1) * y).sum()
    slopes = torch.autograd.grad(along, [*leaves.values()], materialize_grads=True)
    moved = [slope.square().transpose(0, 1).flatten(1).sum(1) for slope in slopes]
    return y.detach().square().mean((1, 2)), dict(zip(leaves, moved, strict=True))


def train(
    networks: Networks,
    cases: Cases,
    rates: Sequence[float],
    updates: int,
    method_at: Callable[[float], Method] | None = None,
) -> Networks:
    """Copies of the networks, one a rate of Adam's; the method may depend on the share of updates done."""
    x, y = cases
    orders = [generators(seed)[1] for seed in networks.seeds]
    trained = {"into": networks.into, "out": networks.out, **networks.stack}
    copies = [{n: v.detach().clone().requires_grad_() for n, v in trained.items()} for _ in rates]
    groups = [{"params": [*c.values()], "lr": rate} for c, rate in zip(copies, rates, strict=True)]
    optimizer = torch.optim.Adam(groups)
    fixed = {name: torch.cat([value] * len(rates), 1) for name, value in networks.fixed.items()}
    axes = dict.fromkeys(trained, 1) | {"into": 0, "out": 0}  # of networks

    def together() -> Networks:
        """The networks of all rates as one."""
        values = {name: torch.cat([c[name] for c in copies], axis) for name, axis in axes.items()}
        into, out = values.pop("into"), values.pop("out")
        return replace(networks, into=into, stack=values, out=out, fixed=fixed)

    with torch_threads(1):
        for update in range(updates):
            chosen = torch.stack([torch.randint(len(y), (BATCH,), generator=g) for g in orders])
            chosen = chosen.repeat(len(rates), 1)
            all_rates = together()
            if method_at:
                all_rates = replace(all_rates, method=method_at(update / updates))
            logits = all_rates.logits(x[chosen])
            loss = cross_entropy(logits.flatten(0, 1), y[chosen].flatten(), reduction="sum") / BATCH
            optimizer.zero_grad()
            loss.backward()  # the sum of the networks' losses: none feels another
            optimizer.step()
        with torch.no_grad():
            return together()


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


def reached(
    networks: Networks, cases: Cases, judged: Cases, rates: Sequence[float], updates: int
) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
    """Losses and shares of right answers on `judged` after training on cases, each at the rate best there."""
    loss, right = scores(train(networks, cases, rates, updates), judged)
    means = np.nan_to_num(loss.mean(1), nan=np.inf)
    return loss[means.argmin()], right[right.mean(1).argmax()]
