r"""Small residual networks take noise off digits; what sets their gains and biases is given.

A case is a digit x of scikit-learn under noise, $z=\sqrt{1-t}\,x+\sqrt t\,e$ with t uniform and e normal.
The loss is the mean square of what is missed of x, about 1 for who answers 0. A condition says which
digit it is and how large t is, or nothing. All networks of a method, one for each rate and seed, train
at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from lnbook.shared.digits import digits
from lnbook.training import generators, torch_threads

Parameters = Mapping[str, Tensor]
# (x, c, p) to the next x: the stream (S, N, H), the condition (S, N, K) and the block's parameters.
Block = Callable[[Tensor, Tensor, Parameters], Tensor]


@dataclass(frozen=True)
class Size:
    """Blocks, units, updates of Adam, cases of a mini-batch."""

    depth: int
    width: int
    updates: int
    batch: int = 32


SIZES = {"smoke": Size(2, 16, 20), "book": Size(4, 32, 100), "study": Size(4, 32, 100)}


def condition(y: Tensor, t: Float[Tensor, "*N 1"], told: bool) -> Float[Tensor, "*N K"]:
    """The digit's ten marks, the share of noise and a 1; who is told nothing has the 1 alone."""
    one = torch.ones_like(t)
    return torch.cat([one_hot(y, 10).to(t), t, one], -1) if told else one


def noisy(
    x: Float[Tensor, "N D"], generator: torch.Generator
) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N 1"]]:
    """Cases in noise, and the noise's share t of the variance."""
    t = torch.rand(len(x), 1, generator=generator)
    e = torch.randn(x.shape, generator=generator)
    return (1 - t).sqrt() * x + t.sqrt() * e, t


def begin(
    size: Size, zeros: Sequence[str], K: int, seeds: Sequence[int], D: int = 64
) -> dict[str, Float[Tensor, "S _ _"]]:
    """Parameters before training, those of block k named `k.W1` and so on.

    The map in has variance 1/D; `W1` (S, H, 2H) has 2/H, `W2` (S, 2H, H) has 1/(2H); the map out is 0. The
    `zeros` are maps from the condition, (S, H, K), that begin at 0. Networks of a seed begin alike.
    """
    H, drawn = size.width, [generators(seed)[0] for seed in seeds]

    def normal(rows: int, columns: int, variance: float) -> Tensor:
        each = [torch.randn(rows, columns, generator=g) for g in drawn]
        return math.sqrt(variance) * torch.stack(each)

    found = {"into": normal(D, H, 1 / D), "out": torch.zeros(len(seeds), H, D)}
    for k in range(size.depth):
        found |= {f"{k}.W1": normal(H, 2 * H, 2 / H), f"{k}.W2": normal(2 * H, H, 1 / (2 * H))}
        found |= {f"{k}.{name}": torch.zeros(len(seeds), H, K) for name in zeros}
    return found


def run(block: Block, p: Parameters, z: Float[Tensor, "*S N D"], c: Tensor) -> Float[Tensor, "S N D"]:
    """What the networks make of cases z under conditions c, the networks' own or the same for all."""
    x = z @ p["into"]
    names = {name.partition(".")[2] for name in p if "." in name}
    for k in range(sum(name.endswith(".W1") for name in p)):
        x = block(x, c, {name: p[f"{k}.{name}"] for name in names})
    return x @ p["out"]


def train(
    block: Block,
    zeros: Sequence[str],
    *,
    told: bool,
    seeds: Sequence[int],
    rates: Sequence[float],
    size: Size,
) -> Float[np.ndarray, "rates seeds"]:
    """Test losses after the last update."""
    (x, y), (x_test, y_test) = digits()
    z_test, t_test = noisy(x_test, torch.Generator().manual_seed(0))  # the test's noise is the same for all
    c_test = condition(y_test, t_test, told)
    start = begin(size, zeros, c_test.shape[-1], seeds, x.shape[1])
    copies = [{name: v.clone().requires_grad_() for name, v in start.items()} for _ in rates]
    groups = [{"params": [*copy.values()], "lr": rate} for copy, rate in zip(copies, rates, strict=True)]
    optimizer = torch.optim.Adam(groups, fused=True)
    orders = [generators(seed)[1] for seed in seeds]

    def together() -> dict[str, Tensor]:
        return {name: torch.cat([copy[name] for copy in copies]) for name in start}

    with torch_threads(1):
        for _ in range(size.updates):
            clean, z, c = (part.repeat(len(rates), 1, 1) for part in _batch(x, y, told, orders, size.batch))
            missed = run(block, together(), z, c) - clean
            optimizer.zero_grad()
            missed.square().mean((1, 2)).sum().backward()  # none feels another
            optimizer.step()
        with torch.no_grad():
            missed = run(block, together(), z_test, c_test) - x_test
    return missed.square().mean((1, 2)).view(len(rates), len(seeds)).double().numpy()


def best(
    rates: Sequence[float], found: Float[np.ndarray, "rates seeds"]
) -> tuple[float, Float[np.ndarray, " seeds"]]:
    """The rate whose mean is lowest, and its numbers; one that diverged is never the best."""
    k = int(np.nan_to_num(found.mean(1), nan=np.inf).argmin())
    return rates[k], found[k]


def _batch(x: Tensor, y: Tensor, told: bool, orders: Sequence[torch.Generator], size: int) -> list[Tensor]:
    """Clean cases, cases in noise and conditions, a mini-batch for each seed."""
    drawn = []
    for order in orders:
        chosen = torch.randint(len(y), (size,), generator=order)
        z, t = noisy(x[chosen], order)
        drawn.append((x[chosen], z, condition(y[chosen], t, told)))
    return [torch.stack(parts) for parts in zip(*drawn, strict=True)]
