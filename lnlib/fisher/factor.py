r"""The factor B of $F = B^\top B$: H rows a case, $B_n = \sqrt{\omega_n}\,L_n^\top J_n$, $L_nL_n^\top = C_n$.

B has NH rows and P columns. Its singular values are the roots of F's, so that a rank read off B is sound to
twice as many digits; its Gram matrix $BB^\top$ has a closed form and is the small side when NH < P.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.linearization import Linearization
from lnlib.glm.covariance import OutputCovariance

__all__ = ["gram", "plain_norms", "row_blocks"]


def _weighted(lin: Linearization, C: OutputCovariance) -> Float[Tensor, "N K H"]:
    r"""$\sqrt{\omega_n}\,L_n^\top$: what multiplies the derivative by the biases."""
    return (lin.share.sqrt()[:, None, None] * C.factor()).mT


def row_blocks(lin: Linearization, C: OutputCovariance, cases: int) -> Iterator[Float[Tensor, "R P"]]:
    """B, so many cases at a time."""
    for start in range(0, len(lin.X), cases):
        part = slice(start, min(start + cases, len(lin.X)))
        block = lin[part]
        L = _weighted(block, C[part])
        A = block.project(L * block.scale[:, None, :])  # (n, K, H)
        w = A[..., None] * block.X[:, None, None, :]
        if block.U is not None:
            w = w - (A * block.unit[:, None, :])[..., None] * block.U
        columns = [w, L[..., None]]
        if block.has_gain:
            columns.append((L * block.unit[:, None, :])[..., None])
        yield torch.cat(columns, -1).flatten(2).flatten(0, 1)


def gram(lin: Linearization, C: OutputCovariance) -> Float[Tensor, "R R"]:
    r"""$BB^\top$, rows in the order of `row_blocks`, without forming B.

    Block (m, n) is $L_m^\top\big[T_m\,(x_m^\top x_n)\,T_n^\top + I + \mathrm{diag}(\hat a_m\hat a_n)\big]L_n$
    with $T_n = \mathrm{diag}(s_n)P_n$, less the terms that each unit's own statistics hide.
    """
    L = _weighted(lin, C)
    A = lin.project(L * lin.scale[:, None, :]).flatten(0, 1)
    unit = lin.unit.repeat_interleave(L.shape[1], 0)
    features = (lin.X @ lin.X.mT).repeat_interleave(L.shape[1], 0).repeat_interleave(L.shape[1], 1)
    K = (A @ A.mT) * features
    L = L.flatten(0, 1)
    if lin.U is not None:
        along = (lin.X @ lin.U.mT).repeat_interleave(len(L) // len(lin.X), 0)
        cross = (A * unit) @ (A * along).mT
        K = K - cross - cross.mT + (A * unit * lin.U.square().sum(1)) @ (A * unit).mT
    K = K + L @ L.mT
    return K + (L * unit) @ (L * unit).mT if lin.has_gain else K


def plain_norms(lin: Linearization, C: OutputCovariance) -> Float[Tensor, " P"]:
    """Norms of B's columns before any projection: the size against which round-off is measured."""
    variance = C.variance() * lin.share[:, None]
    w = (variance * lin.scale.square()).mT @ lin.X.square()
    columns = [w, variance.sum(0)[:, None]]
    if lin.has_gain:
        columns.append((variance * lin.unit.square()).sum(0)[:, None])
    return torch.cat(columns, 1).flatten().sqrt()
