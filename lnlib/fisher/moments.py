r"""Weighted second moments of the features: the hot path of every dense Fisher matrix."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["second_moments"]

FEW_FEATURES = 200  # up to here one product over all pairs of features beats one a pair of units


def second_moments(S: Float[Tensor, "N H H"], X: Float[Tensor, "N D"]) -> Float[Tensor, "H D H D"]:
    r"""$\sum_n S_n \otimes x_n x_n^\top$ for symmetric $S_n$, indexed (i, d, j, e).

    Both factors are symmetric: only $i\le j$ is computed, and for few features only $d\le e$ too, as a single
    product of the half-vectorized matrices: $N H^2 D^2/2$ multiplications.
    """
    H, D = S.shape[1], X.shape[1]
    i, j = torch.triu_indices(H, H, device=X.device)
    pairs = S[:, i, j].mT  # (H (H + 1) / 2, N)
    block = X.new_empty(len(i), D, D)
    if D <= FEW_FEATURES:
        d, e = torch.triu_indices(D, D, device=X.device)
        half = pairs @ (X[:, d] * X[:, e])
        block[:, d, e] = half
        block[:, e, d] = half
    else:
        for k, s in enumerate(pairs):
            torch.mm(X.mT, s[:, None] * X, out=block[k])
    out = X.new_empty(H, H, D, D)
    out[i, j] = block
    out[j, i] = block
    return out.permute(0, 2, 1, 3)
