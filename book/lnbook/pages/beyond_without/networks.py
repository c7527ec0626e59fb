r"""Residual networks whose blocks are given: with a norm, with what stands in for one, or with neither.

All networks of a method are computed at once: every parameter has a leading axis of S networks. A `Method`
says what a block does to the stream, what stands behind the last block, and how the parameters begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.training import generators

Parameters = Mapping[str, Tensor]


def _unchanged(x: Tensor, p: Parameters) -> Tensor:
    return x


@dataclass(frozen=True)
class Method:
    """What a network does.

    `block` takes the stream (S, N, H) and a block's parameters to the next stream; `end` does the same
    behind the last block. `start` takes the parameters of all blocks as drawn, `W1` (L, S, H, 2H) of variance
    2/H and `W2` (L, S, 2H, H) of variance 1/(2H), to those that training begins with, more among them. What
    `end` uses has an entry more than there are blocks.
    """

    block: Callable[[Tensor, Parameters], Tensor]
    end: Callable[[Tensor, Parameters], Tensor] = _unchanged
    start: Callable[[Parameters], Parameters] = dict


@dataclass(frozen=True)
class Networks:
    """S networks: a linear map into the stream, the parameters of L blocks, and a linear map out of it.

    `fixed` are numbers that training leaves alone; like `stack` they begin with the axis of blocks.
    """

    into: Float[Tensor, "S D H"]
    stack: Parameters
    out: Float[Tensor, "S H K"]
    fixed: Parameters = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The number of blocks."""
        return len(self.stack["W1"])

    def streams(self, method: Method, x: Float[Tensor, "*S N D"]) -> list[Float[Tensor, "S N H"]]:
        """The stream in front of the first block and behind every block; cases may be each network's own."""
        return self._run(method, x)[0]

    def read(self, method: Method, x: Float[Tensor, "*S N D"]) -> Float[Tensor, "S N H"]:
        """What the readout reads: the last stream, after what stands behind the blocks."""
        streams, p = self._run(method, x)
        return method.end(streams[-1], p)

    def logits(self, method: Method, x: Float[Tensor, "*S N D"]) -> Float[Tensor, "S N K"]:
        """What is read out."""
        return self.read(method, x) @ self.out

    def double(self) -> Networks:
        """The same networks in float64."""
        stack, fixed = ({n: v.double() for n, v in p.items()} for p in (self.stack, self.fixed))
        return Networks(self.into.double(), stack, self.out.double(), fixed)

    def adding(self, **fixed: Tensor) -> Networks:
        """The same networks with more numbers that training leaves alone."""
        return Networks(self.into, self.stack, self.out, {**self.fixed, **fixed})

    def _run(self, method: Method, x: Tensor) -> tuple[list[Tensor], Parameters]:
        """The streams, and the parameters of the end."""
        places: list[dict[str, Tensor]] = [{} for _ in range(self.depth + 1)]
        for name, values in {**self.stack, **self.fixed}.items():
            for p, value in zip(places, values.unbind(), strict=False):  # not all have an entry for the end
                p[name] = value
        found = [x @ self.into]
        for p in places[:-1]:
            found.append(method.block(found[-1], p))
        return found, places[-1]


def begin(
    method: Method,
    depth: int,
    width: int,
    seeds: Sequence[int],
    inputs: int = 64,
    dtype: torch.dtype = torch.float32,
) -> Networks:
    """Networks before training. Those of a seed have the same weights with every method; readouts are 0."""
    drawn = [generators(seed)[0] for seed in seeds]

    def normal(*shape: int, variance: float) -> Tensor:
        each = [torch.randn(*shape, generator=g, dtype=torch.float64) for g in drawn]
        return (math.sqrt(variance) * torch.stack(each, -3)).to(dtype)

    into = normal(inputs, width, variance=1 / inputs)
    W1 = normal(depth, width, 2 * width, variance=2 / width)
    W2 = normal(depth, 2 * width, width, variance=1 / (2 * width))
    out = into.new_zeros(len(seeds), width, 10)
    return Networks(into, method.start({"W1": W1, "W2": W2}), out)


def first_step(
    networks: Networks, method: Method, seeds: Sequence[int]
) -> tuple[Float[Tensor, " S"], dict[str, Float[Tensor, " S"]]]:
    r"""Before training: how large the stream becomes, and how far a small step moves what is read.

    The mean square of what is read, y, from a first stream of about 1; and, for each kind of parameters of
    the blocks, $\lVert\nabla_\theta\,r^\top y\rVert^2$: the change of $r^\top y$ per learning rate in a small
    step of gradient descent on $-r^\top y$. One case, and a random r of length 1, for each seed.
    A step's size is as in Zhang et al. (2019), Section 3.
    """
    into, orders = networks.into, [generators(seed)[1] for seed in seeds]
    x, r = (
        torch.stack([torch.randn(1, n, generator=g, dtype=torch.float64) for g in orders]).to(into)
        for n in into.shape[1:]
    )
    leaves = {name: values.detach().requires_grad_() for name, values in networks.stack.items()}
    y = Networks(into, leaves, networks.out, networks.fixed).read(method, x)
    slopes = torch.autograd.grad(
        (torch.nn.functional.normalize(r, dim=-1) * y).sum(), [*leaves.values()], materialize_grads=True
    )
    moved = {
        name: slope.square().transpose(0, 1).flatten(1).sum(1)
        for name, slope in zip(leaves, slopes, strict=True)
    }
    return y.detach().square().mean((1, 2)), moved
