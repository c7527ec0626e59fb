r"""Every block of a dense Fisher matrix as a sum over the cases, in parts that fit the cache.

With $M = P\,\mathrm{diag}(s)$ and $S = MCM^\top$ the block of $w_i$ and $w_j$ is $\sum_n S_{ij}\,xx^\top$
(:mod:`lnlib.fisher.moments`), that of $w_i$ and $b_j$ is $\sum_n (MC)_{ij}\,x$, that of $b_i$ and $b_j$ is
$\sum_n C_{ij}$, and g takes $\hat a$ where b takes 1.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.linearization import Linearization
from lnlib.fisher.moments import put_second_moments
from lnlib.glm.covariance import OutputCovariance
from lnlib.matmul import product

__all__ = ["CHUNK_NUMBERS", "assemble"]

CHUNK_NUMBERS = 2**24  # of one array over cases at a time: 128 MiB in float64
CACHE_NUMBERS = 2**18  # of one (H, H) array a case at a time: 1 MiB in float32


@torch.no_grad()
def assemble(lin: Linearization, C: OutputCovariance) -> Float[Tensor, "P P"]:
    """The Fisher matrix of a linearized model and its outputs' covariance, in the order of theta."""
    (N, D), H = lin.X.shape, lin.unit.shape[1]
    sums, columns = _Sums(lin), D + 1 + lin.has_gain
    F = lin.X.new_empty(H, columns, H, columns)
    for cases in _slices(N, CHUNK_NUMBERS // max(H * (H + 1) // 2, D)):
        pairs = sums.add(lin[cases], C[cases])
        put_second_moments(F[:, :D, :, :D], pairs, lin.X[cases], add=cases.start > 0)
    sums.put(F, lin.U)
    return F.reshape(H * columns, H * columns)


class _Sums:
    r"""The sums over cases that stay small; k and l stand for 1 and $\hat a$, the derivatives by b and g.

    Attributes:
        upper: places of the pairs $i\le j$ in a flattened (H, H) matrix.
        cross: $\sum_n (MC)_{ij}k_j\,x$, (K, D, H, H). side: $\sum_n l_iC_{ij}k_j$, (K, K, H, H).
        hidden: where $\chi_i = x - \hat a_iu_i$ takes the place of x, what corrects for it:
            $\sum_n \hat a_i(MC)_{ij}k_j$, (K, H, H); $k_{ij} = \sum_n \hat a_iS_{ij}\,x$, (D, H, H);
            $\kappa_{ij} = \sum_n \hat a_iS_{ij}\hat a_j$, (H, H): the block of $w_i$, $w_j$ loses
            $u_ik_{ij}^\top + k_{ji}u_j^\top - \kappa_{ij}u_iu_j^\top$.
    """

    def __init__(self, lin: Linearization) -> None:
        (_, D), H, K = lin.X.shape, lin.unit.shape[1], 1 + lin.has_gain
        i, j = torch.triu_indices(H, H, device=lin.X.device)
        self.upper = H * i + j
        self.cross, self.side = lin.X.new_zeros(K, D, H, H), lin.X.new_zeros(K, K, H, H)
        shapes = [(K, H, H), (D, H, H), (H, H)] if lin.U is not None else []
        self.hidden = [lin.X.new_zeros(shape) for shape in shapes]

    def add(self, lin: Linearization, C: OutputCovariance) -> Float[Tensor, "N Q"]:
        r"""Add some cases; returns the upper triangles of their $S = MCM^\top$."""
        N, H = lin.unit.shape
        pairs = lin.X.new_empty(N, len(self.upper))
        for part in _slices(N, CACHE_NUMBERS // H**2):
            S = self._add(lin[part], C[part].dense())
            torch.index_select(S.flatten(1), 1, self.upper, out=pairs[part])
        return pairs

    def _add(self, lin: Linearization, C: Float[Tensor, "N H H"]) -> Float[Tensor, "N H H"]:
        C = C * lin.share[:, None, None]
        MC, S = lin.sandwich(C)
        rows, columns, X = lin.unit[:, :, None], lin.unit[:, None, :], lin.X.mT
        for k, (cross, side) in enumerate(zip(self.cross, self.side, strict=True)):
            by_k, of_k = (MC * columns, C * columns) if k else (MC, C)
            cross += product(X, by_k.flatten(1)).view_as(cross)
            for other, total in enumerate(side):
                total += (of_k * rows if other else of_k).sum(0)
            if self.hidden:
                self.hidden[0][k] += (by_k * rows).sum(0)
        if self.hidden:
            Sa = S * rows
            self.hidden[1] += product(X, Sa.flatten(1)).view_as(self.hidden[1])
            self.hidden[2] += (Sa * columns).sum(0)
        return S

    def put(self, F: Float[Tensor, "H C H C"], U: Float[Tensor, "H D"] | None) -> None:
        """Write the blocks of b and g; take from those of w what U hides."""
        D = self.cross.shape[1]
        wz = self.cross.permute(2, 1, 3, 0)  # (i, d, j, k)
        if U is not None:
            drift, k, kappa = self.hidden
            wz = wz - U[:, :, None, None] * drift.permute(1, 2, 0)[:, None]
            Z = k.permute(1, 2, 0) - kappa[:, :, None] * U / 2
            F[:, :D, :, :D].addcmul_(U[:, :, None, None], Z[:, None], value=-1)
            F[:, :D, :, :D].addcmul_(Z.permute(1, 2, 0)[..., None], U, value=-1)
        F[:, :D, :, D:] = wz
        F[:, D:, :, :D] = wz.permute(2, 3, 0, 1)
        F[:, D:, :, D:] = self.side.permute(2, 1, 3, 0)


def _slices(cases: int, each: int) -> Iterator[slice]:
    """The cases, so many at a time and at least one."""
    for start in range(0, cases, max(1, each)):
        yield slice(start, min(start + max(1, each), cases))
