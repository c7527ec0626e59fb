r"""Residual networks at initialization: where the norm stands, what each block receives and what it adds.

A stack of L blocks $F_l(u) = W_2\,\mathrm{relu}(W_1 u)$ on vectors of H units. $W_1$ has variance 2/H, so
that hidden units have mean square 1; $W_2$ has variance c/(4H), so that a block, of 4 H hidden units, adds
variance c:

=========  ====================================  ==========
placement  block                                 output y
=========  ====================================  ==========
"post"     $x_l = LN(x_{l-1} + F_l(x_{l-1}))$    $x_L$
"pre"      $x_l = x_{l-1} + F_l(LN(x_{l-1}))$    $LN(x_L)$
"none"     $x_l = x_{l-1} + F_l(x_{l-1})$        $x_L$
=========  ====================================  ==========

The loss is linear, $\frac1N\sum_n r_n^\top y_n$ with a random $r_n$ of length 1 for each of N cases: what is
measured is the network and no particular task.

Other rules of where the norms stand are a `Place`: (x, F, k, L) to the next x, for block k of L; there c = 1.
`train` trains such networks on the digits of scikit-learn, and `cost` leaves out one block at a time.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from lnbook.shared import residual_networks
from lnbook.shared.digits import Cases
from lnbook.shared.residual_networks import Method, Networks, scores
from lnbook.training import torch_threads
from lnlib.norms.normalize import layer_norm

CASES = 16  # N
# Depths, units, and the depth at which all blocks are measured.
SIZES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "smoke": ((1, 4, 16), 32, 6),
    "book": ((1, 2, 4, 8, 16), 64, 16),
    "study": ((1, 2, 4, 8, 16, 32, 64), 64, 16),
}
Branch = Callable[[Tensor], Tensor]
Place = Callable[[Tensor, Branch, Any, int], Tensor]
Weights = tuple[Float[Tensor, "... four_H H"], Float[Tensor, "... H four_H"]]  # of one block or of all


def _norm(x: Float[Tensor, "... H"]) -> Float[Tensor, "... H"]:
    return layer_norm(x, eps=0.0)


PLACES: dict[str, Place] = {
    "post": lambda x, F, k, L: _norm(x + F(x)),
    "pre": lambda x, F, k, L: x + F(_norm(x)),
    "none": lambda x, F, k, L: x + F(x),
}


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _inputs(generator: torch.Generator, cases: int, width: int) -> Float[Tensor, "cases width"]:
    """Normalized cases: mean 0 and mean square 1 over the units."""
    return _norm(_normal(generator, cases, width))


def gradient_by_block(
    placement: str, depth: int, width: int, seeds: Sequence[int] = range(5), *, branch: float = 1.0
) -> Float[np.ndarray, "seeds depth"]:
    r"""$\lVert\partial\mathcal L/\partial W_2^{(l)}\rVert_F$ of every block, the first block first.

    c is the `branch`; each seed draws a network and its cases. After Xiong et al. (2020), Section 3.3.
    """
    rows = []
    with torch_threads(1):
        for seed in seeds:
            weights, x, r, _ = stack(depth, width, seed, branch)
            second = weights[1].requires_grad_()
            loss = (r * output(placement, weights, x)).sum() / CASES
            rows.append(torch.stack([g.norm() for g in torch.autograd.grad(loss, second)[0]]))
    return torch.stack(rows).numpy()


def gradient_by_depth(
    placement: str, depths: Sequence[int], width: int, seeds: Sequence[int] = range(5), *, branch: float = 1.0
) -> Float[np.ndarray, "seeds depths"]:
    """The same of the *last* block in networks of several depths, after their Theorem 1."""
    columns = [gradient_by_block(placement, L, width, seeds, branch=branch)[:, -1] for L in depths]
    return np.stack(columns, 1)


def output_change(
    placement: str, depths: Sequence[int], width: int, seeds: Sequence[int] = range(5), *, branch: float = 1.0
) -> Float[np.ndarray, "seeds depths"]:
    r"""How far the output moves if every weight of the stack moves by the same relative amount at random.

    $\lVert y(W + \delta\,sE) - y(W)\rVert/(\delta\,\lVert y\rVert)$ with fresh standard normal E, s the
    standard deviation of a matrix's weights and $\delta = 0.001$. *Source* Liu et al. (2020), Theorem 2.
    """
    found = []
    with torch_threads(1), torch.no_grad():
        for seed, depth in product(seeds, depths):
            weights, x, _, generator = stack(depth, width, seed, branch)
            before = output(placement, weights, x)
            moves = ([W.std() * _normal(generator, *W.shape) for W in Ws] for Ws in weights)
            W1, W2 = (Ws + 1e-3 * torch.stack(move) for Ws, move in zip(weights, moves, strict=True))
            after = output(placement, (W1, W2), x)
            found.append(float((after - before).norm() / (1e-3 * before.norm())))
    return np.reshape(found, (len(seeds), len(depths)))


def exponent(depths: Sequence[int], norms: Float[np.ndarray, "seeds depths"]) -> Float[np.ndarray, " seeds"]:
    """The power p of a power law $L^p$, for each seed: the slope of logarithms by least squares."""
    return np.polyfit(np.log(depths), np.log(norms).T, 1)[0]


def stack(
    depth: int, width: int, seed: int, branch: float
) -> tuple[Weights, Float[Tensor, "N H"], Float[Tensor, "N H"], torch.Generator]:
    """Weights of the blocks, cases x and a readout r of one seed, in float64; and what draws on."""
    generator, hidden = torch.Generator().manual_seed(seed), 4 * width
    W1 = math.sqrt(2 / width) * _normal(generator, depth, hidden, width)
    W2 = math.sqrt(branch / hidden) * _normal(generator, depth, width, hidden)
    x = _inputs(generator, CASES, width)
    return (W1, W2), x, normalize(_normal(generator, CASES, width), dim=-1), generator


def output(placement: str, weights: Weights, x: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
    """y for these weights."""
    last = streams(PLACES[placement], weights, x)[-1]
    return last if placement in ("post", "none") else _norm(last)


def draw(depth: int, width: int, generator: torch.Generator, size: float = 1.0) -> Weights:
    r"""$W_1$ and $W_2$ of every block, both times `size`."""
    W1, W2 = _normal(generator, depth, 2, 4 * width * width).unbind(1)
    scales = size * math.sqrt(2 / width), size * math.sqrt(1 / (4 * width))
    return scales[0] * W1.view(depth, 4 * width, width), scales[1] * W2.view(depth, width, 4 * width)


def branch(weights: Weights) -> Branch:
    r"""The block's function $F(u) = W_2\,\mathrm{relu}(W_1u)$; leading axes of the weights are networks."""
    W1, W2 = weights
    return lambda u: (u @ W1.mT).relu() @ W2.mT


def streams(place: Place, weights: Weights, x: Float[Tensor, "... H"]) -> list[Float[Tensor, "... H"]]:
    """The stream in front of the first block and behind every block."""
    found = [x]
    for number, W in enumerate(zip(*weights, strict=True), 1):
        found.append(place(found[-1], branch(W), number, len(weights[0])))
    return found


def added(
    place: Place, depths: Sequence[int], width: int, seeds: Sequence[int]
) -> Float[np.ndarray, "seeds depths"]:
    r"""Mean square over 16 cases and the units of what k blocks add, $x_k - x_0$, k a depth."""
    rows = []
    with torch_threads(1), torch.no_grad():
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            x = _inputs(generator, CASES, width)
            found = streams(place, draw(max(depths), width, generator), x)
            rows.append([float((found[k] - x).square().mean()) for k in depths])
    return np.array(rows)


def step_changes(
    place: Place,
    depths: Sequence[int],
    width: int,
    seeds: Sequence[int],
    size: Callable[[int], float] = lambda depth: 1.0,
) -> Float[np.ndarray, "seeds depths"]:
    r"""How far one small step of gradient descent on all weights moves the output, per learning rate.

    $\lVert y(\theta-\eta\nabla\mathcal L)-y(\theta)\rVert/\eta$ with $\mathcal L = r^\top y$ for one case and
    a random r of length 1; `size` gives the size of the weights for a depth.

    *Source* the model update of Wang et al. (2022), Section 3, for a linear loss.
    """
    found, rate = [], 1e-8
    with torch_threads(1):
        for seed, depth in product(seeds, depths):
            generator = torch.Generator().manual_seed(seed)
            x = _inputs(generator, 1, width)
            r = normalize(_inputs(generator, 1, width), dim=-1)
            W1, W2 = (W.requires_grad_() for W in draw(depth, width, generator, size(depth)))
            y = streams(place, (W1, W2), x)[-1]
            slopes = torch.autograd.grad((r * y).sum(), (W1, W2))
            with torch.no_grad():
                change = streams(place, (W1 - rate * slopes[0], W2 - rate * slopes[1]), x)[-1] - y
            found.append(float(change.norm()) / rate)
    return np.reshape(found, (len(seeds), len(depths)))


def train(
    place: Place, cases: Cases, seeds: Sequence[int], depth: int, width: int, updates: int, rate: float
) -> Networks:
    """Networks after Adam; those of a seed begin with the same weights and see the same cases anywhere.

    Each is a linear map into the stream, the blocks, a layer norm and a linear map out of it.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    stacks = [draw(depth, width, g) for g in generators]
    W1, W2 = (torch.stack(Ws, 1).float() for Ws in zip(*stacks, strict=True))
    into, out = (
        torch.stack([torch.randn(shape, generator=g) for g in generators]) / math.sqrt(shape[0])
        for shape in ((cases[0].shape[1], width), (width, 10))
    )
    number = torch.arange(1.0, depth + 1)[:, None, None, None].expand(-1, len(seeds), 1, 1)
    method = Method(
        lambda x, p: place(x, branch((p["W1"], p["W2"])), p["number"], depth),
        lambda x, p: _norm(x),
    )
    networks = Networks(method, seeds, into, {"W1": W1, "W2": W2, "number": number}, out)
    return residual_networks.train(networks, cases, (rate,), updates, orders=generators)


def cost(networks: Networks, cases: Cases) -> Float[np.ndarray, "S depth"]:
    """The loss without block k less the loss with all, for every k: one whose W2 is 0 adds nothing."""
    (whole,), _ = scores(networks, cases)
    found = []
    for k in range(len(networks.stack["W2"])):
        W2 = networks.stack["W2"].clone()
        W2[k] = 0
        (loss,), _ = scores(replace(networks, stack={**networks.stack, "W2": W2}), cases)
        found.append(loss - whole)
    return np.stack(found, 1)
