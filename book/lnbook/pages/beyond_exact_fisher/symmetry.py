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

__all__ = ["constraints", "hidden_directions", "slide"]

NEWTON_STEPS = 20


def _centered(W: Float[Tensor, "H D"]) -> Float[Tensor, "H D"]:
    return W - W.mean(0)


def _pairs(Wc: Float[Tensor, "H D"]) -> Float[Tensor, "Q H"]:
    """The upper triangle of each $w_i w_i^T$, one column per unit."""
    d, e = torch.triu_indices(Wc.shape[1], Wc.shape[1], device=Wc.device)
    return (Wc[:, d] * Wc[:, e]).mT


def constraints(W: Float[Tensor, "H D"], t: Float[Tensor, " H"]) -> Float[Tensor, " R"]:
    r"""How far factors t are from a symmetry: $\sum t_i w_i^c$ and $\sum (t_i^2-1)\,w_i^c w_i^{c\top}$.

    *Source* ours.

    Args:
        W: weights, (H, D). t: a factor for each centered row, (H,).

    Returns:
        D sums, then D(D+1)/2 sums, the upper triangle row by row; all 0 for a symmetry.

    >>> constraints(torch.tensor([[1.0], [-1.0]]), torch.tensor([1.0, 1.0]))
    tensor([0., 0.])
    """
    Wc = _centered(W)
    return torch.cat([Wc.mT @ t, _pairs(Wc) @ (t.square() - 1)])


def _derivative(Wc: Float[Tensor, "H D"], t: Float[Tensor, " H"]) -> Float[Tensor, "R H"]:
    return torch.cat([Wc.mT, 2 * _pairs(Wc) * t])


def hidden_directions(W: Float[Tensor, "H D"], t: Float[Tensor, " H"] | None = None) -> Float[Tensor, "H K"]:
    r"""Moves of t along the symmetry: $\sum\tau_i w_i^c = 0$ and $\sum t_i\tau_i\,w_i^c w_i^{c\top} = 0$.

    *Source* ours. $K = \max(0, H - D - D(D+1)/2)$ for rows in general position.

    Args:
        W: weights, (H, D). t: where to start, (H,); ones if None.

    Returns:
        (H, K), orthonormal columns.

    >>> hidden_directions(torch.randn(7, 2, generator=torch.Generator().manual_seed(0))).shape
    torch.Size([7, 2])
    """
    Wc = _centered(W)
    A = _derivative(Wc, torch.ones_like(W[:, 0]) if t is None else t)
    size = torch.linalg.vector_norm(A, dim=1, keepdim=True)
    _, values, V = torch.linalg.svd(A / size.where(size > 0, 1), full_matrices=True)
    tolerance = max(A.shape) * torch.finfo(A.dtype).eps * float(values.max())
    return V[int((values > tolerance).sum()) :].mT


def slide(
    W: Float[Tensor, "H D"], direction: Float[Tensor, " H"], length: float, step: float = 0.02
) -> Float[Tensor, "S H"]:
    r"""A path of factors t along the hidden symmetry, from ones, each point exact to rounding.

    *Source* ours. Predictor: the last direction, projected onto `hidden_directions` at t. Corrector:
    $t \leftarrow t - A^+ c(t)$, where c are the `constraints` and A their derivative.

    Args:
        W: weights, (H, D). direction: where to head, (H,); only its part along the symmetry counts.
        length: of the path in the space of t. step: between its points.

    Returns:
        (S, H): S points, the first all ones. The path ends early where the next factor would not be positive:
        there a gain diverges.

    Raises:
        ValueError: rows without a hidden direction, or a direction that has no part along the symmetry.
        ArithmeticError: Newton's method does not converge; take smaller steps.
    """
    (H, D), Wc = W.shape, _centered(W)
    if hidden_directions(W).shape[1] == 0:
        need = D + D * (D + 1) // 2
        raise ValueError(
            f"{H} rows of {D} weights have no hidden direction; rows in general position need "
            f"H > D + D(D+1)/2 = {need}"
        )
    t, heading, path = W.new_ones(H), direction, [W.new_ones(H)]
    for _ in range(math.ceil(length / step)):
        basis = hidden_directions(W, t)
        along = basis @ (basis.mT @ heading)
        if along.norm() <= 1e-8 * heading.norm():
            raise ValueError("the direction has no part along the hidden symmetry; give one that has")
        heading = along / along.norm()
        new = _newton(Wc, W, t + step * heading)
        if not bool((new > 0).all()):
            break
        t = new
        path.append(t)
    return torch.stack(path)


def _newton(Wc: Tensor, W: Tensor, t: Tensor) -> Tensor:
    enough = 64 * torch.finfo(t.dtype).eps * float(Wc.square().sum())
    for _ in range(NEWTON_STEPS):
        off = constraints(W, t)
        if float(off.abs().max()) <= enough:
            return t
        t = t - torch.linalg.lstsq(_derivative(Wc, t), off, driver="gelsd").solution
    raise ArithmeticError(
        f"Newton's method leaves the constraints at {float(off.abs().max()):.1e}, above {enough:.1e}; "
        "take a smaller step"
    )
