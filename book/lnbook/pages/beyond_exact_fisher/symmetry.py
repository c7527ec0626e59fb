r"""The hidden symmetry of layer norm: rows slide along rays of their own, and no output changes.

With $w_i^c = w_i - \frac1H\sum_k w_k$, a layer $z_i = g_i\,w_i^{c\top}x/\sigma + b_i$,
$\sigma^2 = \frac1H x^\top S x$, $S = \sum_i w_i^c w_i^{c\top}$, does not change under $w_i^c \to t_i w_i^c$,
$g_i \to g_i/t_i$ as long as

$$\sum_i t_i\,w_i^c = 0 \qquad\text{and}\qquad \sum_i t_i^2\,w_i^c w_i^{c\top} = S .$$

The first keeps the rows centered, the second keeps every case's $\sigma$. Read $w_i^c$ as unit masses in D
dimensions: each slides on its ray, the center of mass and the moments of inertia stay. That is
$D + D(D+1)/2$ conditions on $H$ numbers, so that wide layers have moves to spare.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor


def _pairs(Wc: Float[Tensor, "H D"]) -> Float[Tensor, "Q H"]:
    """The upper triangle of each $w_i w_i^T$, one column per unit."""
    d, e = torch.triu_indices(Wc.shape[1], Wc.shape[1], device=Wc.device)
    return (Wc[:, d] * Wc[:, e]).mT


def constraints(W: Float[Tensor, "H D"], t: Float[Tensor, " H"]) -> Float[Tensor, " R"]:
    r"""How far factors t are from a symmetry: $\sum t_i w_i^c$ and $\sum (t_i^2-1)\,w_i^c w_i^{c\top}$."""
    Wc = W - W.mean(0)
    return torch.cat([Wc.mT @ t, _pairs(Wc) @ (t.square() - 1)])


def _derivative(Wc: Float[Tensor, "H D"], t: Float[Tensor, " H"]) -> Float[Tensor, "R H"]:
    return torch.cat([Wc.mT, 2 * _pairs(Wc) * t])


def hidden_directions(W: Float[Tensor, "H D"], t: Float[Tensor, " H"] | None = None) -> Float[Tensor, "H K"]:
    r"""Moves of t along the symmetry: $\sum\tau_i w_i^c = 0$ and $\sum t_i\tau_i\,w_i^c w_i^{c\top} = 0$.

    Orthonormal columns, $K = \max(0, H - D - D(D+1)/2)$ of them for rows in general position. t is where to
    start, ones if None.
    """
    Wc = W - W.mean(0)
    A = _derivative(Wc, torch.ones_like(W[:, 0]) if t is None else t)
    size = torch.linalg.vector_norm(A, dim=1, keepdim=True)
    _, values, V = torch.linalg.svd(A / size.where(size > 0, 1), full_matrices=True)
    tolerance = max(A.shape) * torch.finfo(A.dtype).eps * float(values.max())
    return V[int((values > tolerance).sum()) :].mT


def slide(
    W: Float[Tensor, "H D"], direction: Float[Tensor, " H"], length: float, step: float = 0.02
) -> Float[Tensor, "S H"]:
    r"""A path of factors t along the hidden symmetry, from ones, each point exact to rounding.

    Predictor: the last direction, projected onto `hidden_directions` at t. Corrector:
    $t \leftarrow t - A^+ c(t)$, where c are the `constraints` and A their derivative. The path ends early
    where the next factor would not be positive: there a gain diverges.
    """
    Wc, t, heading = W - W.mean(0), W.new_ones(len(W)), direction
    path = [t]
    for _ in range(math.ceil(length / step)):
        basis = hidden_directions(W, t)
        along = basis @ (basis.mT @ heading)
        heading = along / along.norm()
        new = _newton(Wc, W, t + step * heading)
        if not bool((new > 0).all()):
            break
        t = new
        path.append(t)
    return torch.stack(path)


def _newton(Wc: Tensor, W: Tensor, t: Tensor) -> Tensor:
    enough = 64 * torch.finfo(t.dtype).eps * float(Wc.square().sum())
    for _ in range(20):
        off = constraints(W, t)
        if float(off.abs().max()) <= enough:
            return t
        t = t - torch.linalg.lstsq(_derivative(Wc, t), off, driver="gelsd").solution
    raise ArithmeticError(f"Newton's method stays {float(off.abs().max()):.1e} off; take a smaller step")
