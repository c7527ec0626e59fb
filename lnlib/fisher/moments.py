r"""Weighted second moments of the features: the hot path of every dense Fisher matrix.

The sum $\sum_n S_n\otimes x_nx_n^\top$ is a product of two half-vectorized matrices: the S of all cases times
the $xx^\top$ of all cases, $N\,\frac{H(H+1)}2\,\frac{D(D+1)}2$ multiplications. For few features that is how
it is done. Many features would need too much memory for $xx^\top$; there each pair of units has a product
$X^\top\mathrm{diag}(s)X$ of its own, of which only panels on and right of the diagonal are computed.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.matmul import product

__all__ = ["put_second_moments"]

FEW_FEATURES = 200  # up to here the half-vectorized xx' pays: 128-wide panels waste more than it costs
PANEL = 128  # columns a panel: wide enough for full speed, narrow enough to waste little on the diagonal
UNFOLD_NUMBERS = 2**22  # of half-vectorized xx' at a time: 16 MiB in float32


def put_second_moments(
    F: Float[Tensor, "H D H D"], pairs: Float[Tensor, "N Q"], X: Float[Tensor, "N D"], *, add: bool
) -> None:
    r"""Write $\sum_n S_{n,ij}\,x_nx_n^\top$ to the blocks `F[i, :, j, :]`, or add it to them.

    Args:
        F: the blocks, in place. pairs: $S_{n,ij}$ of symmetric S for $i\le j$, row by row of the upper
            triangle, (N, H (H + 1) / 2). X: features, (N, D). add: to what F holds; else F is overwritten.
    """
    (_, D), H = X.shape, len(F)
    columns = X.mT.contiguous()
    if D <= FEW_FEATURES:
        half = _few(pairs, columns)
        full = _symmetric_index(D, X.device)
        for i, rows in enumerate(half.split(list(range(H, 0, -1)))):  # rows: pairs (i, i), (i, i + 1), ...
            block = rows.index_select(1, full).view(-1, D, D)
            _put(F[i, :, i:], block.transpose(0, 1), add)
            _put(F[i + 1 :, :, i], block[1:], add)
    else:
        right = [(a, X[:, a:].contiguous()) for a in range(0, D, PANEL)]
        units = zip(*torch.triu_indices(H, H).tolist(), strict=True)
        block = X.new_empty(D, D)
        for s, (i, j) in zip(pairs.mT.contiguous(), units, strict=True):
            for a, features in right:
                e = min(a + PANEL, D)
                block[a:e, a:] = product(columns[a:e] * s, features)
                block[e:, a:e] = block[a:e, e:].mT
            _put(F[i, :, j], block, add)
            if i != j:
                _put(F[j, :, i], block, add)


def _few(pairs: Float[Tensor, "N Q"], columns: Float[Tensor, "D N"]) -> Float[Tensor, "Q R"]:
    """The half-vectorized S times the half-vectorized xx', R = D (D + 1) / 2."""
    D, N = columns.shape
    half = pairs.new_zeros(pairs.shape[1], D * (D + 1) // 2)
    step = max(1, UNFOLD_NUMBERS // half.shape[1])
    for start in range(0, N, step):
        x = columns[:, start : start + step]
        squares = torch.cat([x[d] * x[d:] for d in range(D)])
        half += product(pairs[start : start + step].mT, squares.mT)
    return half


def _symmetric_index(D: int, device: torch.device) -> Tensor:
    """Where each entry of a symmetric (D, D) matrix, flattened, lies in its half-vectorization."""
    d, e = torch.triu_indices(D, D, device=device)
    full = torch.empty(D, D, dtype=torch.long, device=device)
    full[d, e] = full[e, d] = torch.arange(len(d), device=device)
    return full.flatten()


def _put(block: Tensor, value: Tensor, add: bool) -> None:
    if add:
        block.add_(value)
    else:
        block.copy_(value)
