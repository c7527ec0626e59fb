r"""Stacks of residual blocks before training, for any rule of where the norms stand.

A block's function is $F(u) = W_2\,\mathrm{relu}(W_1u)$ on H units, with 4 H hidden units, $W_1$ of variance
2/H and $W_2$ of variance 1/(4H), so that F keeps the mean square of u on average. A `Place` says what a
block does with it: (x, F, k, L) to the next x, for block k of L.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.training import torch_threads
from lnlib.norms import layer_norm

Branch = Callable[[Tensor], Tensor]
Place = Callable[[Tensor, Branch, int, int], Tensor]
Weights = tuple[Float[Tensor, "... four_H H"], Float[Tensor, "... H four_H"]]


def draw(depth: int, width: int, generator: torch.Generator, size: float = 1.0) -> list[Weights]:
    r"""$W_1$ and $W_2$ of every block, normal, both times `size`, in float64."""

    def normal(rows: int, columns: int, variance: float) -> Tensor:
        scale = size * math.sqrt(variance)
        return scale * torch.randn(rows, columns, generator=generator, dtype=torch.float64)

    hidden = 4 * width
    return [(normal(hidden, width, 2 / width), normal(width, hidden, 1 / hidden)) for _ in range(depth)]


def branch(weights: Weights) -> Branch:
    r"""The block's function $F(u) = W_2\,\mathrm{relu}(W_1u)$; leading axes of the weights are networks."""
    W1, W2 = weights
    return lambda u: (u @ W1.mT).relu() @ W2.mT


def streams(
    place: Place, weights: Sequence[Weights], x: Float[Tensor, "... H"], without: int | None = None
) -> list[Float[Tensor, "... H"]]:
    """The stream in front of the first block and behind every block; block `without`, from 1, is skipped."""
    found = [x]
    for number, W in enumerate(weights, 1):
        found.append(found[-1] if number == without else place(found[-1], branch(W), number, len(weights)))
    return found


def vectors(
    place: Place, weights: Sequence[Weights], x: Float[Tensor, "... H"]
) -> Float[Tensor, "depth ... H"]:
    """What every block adds to the stream, $x_k - x_{k-1}$."""
    return torch.stack([after - before for before, after in pairwise(streams(place, weights, x))])


def added(
    place: Place, depths: Sequence[int], width: int, seeds: Sequence[int]
) -> Float[np.ndarray, "seeds depths"]:
    r"""Mean square over 16 cases and the units of what k blocks add, $x_k - x_0$, k a depth."""
    rows = []
    with torch_threads(1), torch.no_grad():
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            x = _inputs(16, width, generator)
            found = streams(place, draw(max(depths), width, generator), x)
            rows.append([float((found[k] - x).square().mean()) for k in depths])
    return np.array(rows)


def step_change(
    place: Place, depth: int, width: int, seeds: Sequence[int], size: float = 1.0, rate: float = 1e-8
) -> Float[np.ndarray, " seeds"]:
    r"""How far one small step of gradient descent on all weights moves the output, per learning rate.

    $\lVert y(\theta-\eta\nabla\mathcal L)-y(\theta)\rVert/\eta$ with $\mathcal L = r^\top y$ for one case and
    a random r of length 1.

    *Source* the model update of Wang et al. (2022), Section 3, for a linear loss.
    """
    rows = []
    with torch_threads(1):
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            x = _inputs(1, width, generator)
            r = torch.nn.functional.normalize(_inputs(1, width, generator), dim=-1)
            flat = [W.requires_grad_() for pair in draw(depth, width, generator, size) for W in pair]
            y = streams(place, _pairs(flat), x)[-1]
            slopes = torch.autograd.grad((r * y).sum(), flat)
            with torch.no_grad():
                moved = [W - rate * slope for W, slope in zip(flat, slopes, strict=True)]
                change = streams(place, _pairs(moved), x)[-1] - y
            rows.append(float(change.norm()) / rate)
    return np.array(rows)


def step_changes(
    place: Place,
    depths: Sequence[int],
    width: int,
    seeds: Sequence[int],
    size: Callable[[int], float] = lambda depth: 1.0,
) -> Float[np.ndarray, "seeds depths"]:
    """`step_change` at several depths; `size` gives the size of the weights for a depth."""
    return np.stack([step_change(place, L, width, seeds, size(L)) for L in depths], 1)


def _pairs(flat: Sequence[Tensor]) -> list[Weights]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def _inputs(cases: int, width: int, generator: torch.Generator) -> Float[Tensor, "cases width"]:
    """Normalized cases: mean 0 and mean square 1 over the units."""
    return layer_norm(torch.randn(cases, width, generator=generator, dtype=torch.float64), eps=0.0)
