r"""Residual networks at initialization: where the norm stands, and what gradient each block receives.

A stack of L blocks $F_l(u) = W_2\,\mathrm{relu}(W_1 u)$ on vectors of H units. $W_1$ has variance 2/H, so
that hidden units have mean square 1; $W_2$ has variance c/(4H), so that a block, of 4 H hidden units, adds
variance c:

=========  ==================================================  =====================================
placement  block                                               output y
=========  ==================================================  =====================================
"post"     $x_l = LN(x_{l-1} + F_l(x_{l-1}))$                  $x_L$
"pre"      $x_l = x_{l-1} + F_l(LN(x_{l-1}))$                  $LN(x_L)$
"summed"   as "none", with $\mathrm{relu}(LN(W_1u))\sqrt2$     $LN(x_L)$
"output"   $x_l = x_{l-1} + \sqrt c\,LN(F_l(x_{l-1}))$          $LN(x_L)$
"none"     $x_l = x_{l-1} + F_l(x_{l-1})$                      $x_L$
=========  ==================================================  =====================================

The loss is linear, $\frac1N\sum_n r_n^\top y_n$ with a random $r_n$ of length 1 for each of N cases: what is
measured is the network and no particular task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from lnbook.ledger.intervals import interval
from lnbook.training import torch_threads
from lnlib.norms.normalize import layer_norm

PLACEMENTS = ("post", "pre", "summed", "output", "none")
CASES = 16  # N
# Depths, units, and the depth at which all blocks are measured.
SIZES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "smoke": ((1, 4, 16), 32, 6),
    "book": ((1, 2, 4, 8, 16), 64, 16),
    "study": ((1, 2, 4, 8, 16, 32, 64), 64, 16),
}
Curves = dict[str, Float[np.ndarray, "_ _"]]  # by placement: one row per seed, one column per depth or block


def gradient_by_block(
    placement: str,
    depth: int,
    width: int = 64,
    seeds: Sequence[int] = range(5),
    *,
    branch: float = 1.0,
) -> Float[np.ndarray, "seeds depth"]:
    r"""$\lVert\partial\mathcal L/\partial W_2^{(l)}\rVert_F$ of every block, the first block first.

    L is the `depth`, H the `width`, c the `branch`; each seed draws a network and its cases.
    After Xiong et al. (2020), Section 3.3.
    """
    rows = []
    with torch_threads(1):
        for seed in seeds:
            stack = Stack(placement, depth, width, branch=branch, seed=seed)
            loss = (stack.readout * stack.output(stack.W1, stack.W2)).sum() / CASES
            rows.append(torch.stack([g.norm() for g in torch.autograd.grad(loss, stack.W2)]))
    return torch.stack(rows).numpy()


def gradient_by_depth(
    placement: str,
    depths: Sequence[int],
    width: int = 64,
    seeds: Sequence[int] = range(5),
    *,
    branch: float = 1.0,
) -> Float[np.ndarray, "seeds depths"]:
    """The same of the *last* block in networks of several depths, after their Theorem 1."""
    columns = [gradient_by_block(placement, L, width, seeds, branch=branch)[:, -1] for L in depths]
    return np.stack(columns, 1)


def wide_limit(placement: str, depth: int, block: int, width: int, *, branch: float = 1.0) -> float:
    r"""What :func:`gradient_by_block` tends to for many units.

    $\sqrt{4H/N}$ times $(1+c)^{-1/2}$ ("post"), $(1+cl)^{-1/2}$ ("pre", "summed", "output") or
    $(1+c)^{(L-1)/2}$ ("none").

    `block` is l, from 1 to L.
    """
    factor = {"post": (1 + branch) ** -0.5, "none": (1 + branch) ** ((depth - 1) / 2)}
    factor |= dict.fromkeys(("pre", "summed", "output"), (1 + branch * block) ** -0.5)
    return math.sqrt(4 * width / CASES) * factor[placement]


def output_change(
    placement: str,
    depth: int,
    width: int = 64,
    seeds: Sequence[int] = range(5),
    *,
    branch: float = 1.0,
) -> Float[np.ndarray, " seeds"]:
    r"""How far the output moves if every weight of the stack moves by the same relative amount at random.

    $\lVert y(W + \delta\,sE) - y(W)\rVert/(\delta\,\lVert y\rVert)$ with fresh standard normal E, s the
    standard deviation of a matrix's weights and $\delta = 0.001$: an update that does not ask how
    large the gradient is.

    Liu et al. (2020), Theorem 2, as a measurement.
    """
    step, rows = 1e-3, []
    with torch_threads(1), torch.no_grad():
        for seed in seeds:
            stack = Stack(placement, depth, width, branch=branch, seed=seed)
            before = stack.output(stack.W1, stack.W2)
            after = stack.output(*([W + step * stack.like(W) for W in Ws] for Ws in (stack.W1, stack.W2)))
            rows.append((after - before).norm() / (step * before.norm()))
    return torch.stack(rows).numpy()


def before_training(scale: str, seeds: Sequence[int]) -> tuple[Curves, Curves, Curves]:
    """Before training: the last block's gradient by depth, every block's, how far a random step moves y."""
    depths, width, L = SIZES[scale]
    both = ("post", "pre")
    last = {p: gradient_by_depth(p, depths, width, seeds) for p in both}
    blocks = {p: gradient_by_block(p, L, width, seeds) for p in both}
    moved = {p: np.stack([output_change(p, d, width, seeds) for d in depths], 1) for p in both}
    return last, blocks, moved


def exponent(depths: Sequence[int], norms: Float[np.ndarray, "seeds depths"]) -> Float[np.ndarray, " seeds"]:
    """The power p of a power law $L^p$, for each seed: the slope of logarithms by least squares."""
    x = np.log(np.asarray(depths, dtype=float))
    x = x - x.mean()
    return np.log(norms) @ x / (x @ x)


def farthest(powers: Float[np.ndarray, " seeds"], expected: float) -> float:
    """The largest distance of the powers' 95 % interval from an expected power."""
    _, *ends = interval(powers)
    return max(abs(end - expected) for end in ends)


class Stack:
    """Weights `W1` and `W2` of the blocks, cases `x` and a `readout` r of one seed, in float64."""

    def __init__(self, placement: str, depth: int, width: int, *, seed: int, branch: float = 1.0) -> None:
        self.placement, self.branch = placement, branch
        self.generator = torch.Generator().manual_seed(seed)
        hidden = 4 * width
        self.W1 = [math.sqrt(2 / width) * self._draw(hidden, width) for _ in range(depth)]
        self.W2 = [math.sqrt(branch / hidden) * self._draw(width, hidden) for _ in range(depth)]
        for W in self.W2:
            W.requires_grad_()
        self.x = layer_norm(self._draw(CASES, width), eps=0.0)
        self.readout = normalize(self._draw(CASES, width), dim=-1)

    def output(self, W1: Sequence[Tensor], W2: Sequence[Tensor]) -> Float[Tensor, "N H"]:
        """y for these weights."""
        x, placement = self.x, self.placement
        for W_in, W_out in zip(W1, W2, strict=True):
            a = (layer_norm(x, eps=0.0) if placement == "pre" else x) @ W_in.T
            if placement == "summed":
                a = math.sqrt(2) * layer_norm(a, eps=0.0)
            added = a.relu() @ W_out.T
            if placement == "output":
                added = math.sqrt(self.branch) * layer_norm(added, eps=0.0)
            x = x + added
            x = layer_norm(x, eps=0.0) if placement == "post" else x
        return x if placement in ("post", "none") else layer_norm(x, eps=0.0)

    def like(self, W: Tensor) -> Tensor:
        """Standard normal numbers times the standard deviation of a matrix's own."""
        return W.std() * self._draw(*W.shape)

    def _draw(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64)
