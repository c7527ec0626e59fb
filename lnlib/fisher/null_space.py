r"""The factor B of $F = B^\top B$, and the directions that a model cannot see: the null space of both.

B has H rows a case, $B_n = \sqrt{\omega_n}\,L_n^\top J_n$ with $L_nL_n^\top = C_n$. Its singular values are
the roots of F's, so that a rank read off B is sound to twice as many digits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.dense import squares
from lnlib.fisher.linearization import Linearization, slices
from lnlib.glm.covariance import OutputCovariance

__all__ = ["NullSpace", "factor", "null_space"]


@dataclass(frozen=True)
class NullSpace:
    """Parameter directions that change no output distribution to first order, and how sure that count is.

    Attributes:
        basis: orthonormal columns, (P, nullity).
        singular_values: of the column-scaled factor B, descending, P of them (zeros where B has fewer rows).
        tolerance: singular values at or below it count as 0.
        gap: smallest singular value kept over the largest one dropped: 1e8 and more is beyond doubt, below
            100 the rank depends on the tolerance. Infinite where nothing, or exactly 0, is dropped.
    """

    basis: Float[Tensor, "P K"]
    singular_values: Float[Tensor, " P"]
    tolerance: float
    gap: float

    @property
    def nullity(self) -> int:
        """The dimension of the null space."""
        return self.basis.shape[1]

    def __repr__(self) -> str:
        return f"NullSpace(nullity={self.nullity} of {len(self.basis)}, gap={self.gap:.1e})"


@torch.no_grad()
def null_space(lin: Linearization, C: OutputCovariance, tolerance: float | None = None) -> NullSpace:
    r"""Null space of $F = B^\top B$ from the singular values of B with columns of comparable size.

    Columns are divided by their norm before the projections of the normalization, so that neither the units
    of a feature nor a cancellation to 0 changes the rank. A triangular factor is carried over the blocks.
    `tolerance` is relative to the largest singular value; default max(NH, P) times the unit round-off.
    """
    size = squares(replace(lin, U=None), lin.scale.square() * C.variance(), C.variance()).sqrt()
    size = torch.where(size > 0, size, 1)
    P, rows = len(size), lin.unit.numel()
    R = lin.X.new_empty(0, P)
    for block in factor(lin, C):
        R = torch.linalg.qr(torch.cat([R, block / size]), mode="r").R
    _, values, V = torch.linalg.svd(R, full_matrices=True)
    values = torch.cat([values, values.new_zeros(P - len(values))])
    relative = max(rows, P) * torch.finfo(R.dtype).eps if tolerance is None else tolerance
    threshold = relative * float(values[0])
    rank = int((values > threshold).sum())
    dropped = float(values[rank]) if rank < P else 0.0
    gap = float(values[rank - 1]) / dropped if rank and dropped else float("inf")
    basis = torch.linalg.qr(V[rank:].mT / size[:, None]).Q
    return NullSpace(basis, values, threshold, gap)


def factor(lin: Linearization, C: OutputCovariance) -> Iterator[Float[Tensor, "R P"]]:
    """B, some cases at a time."""
    H, D = lin.unit.shape[1], lin.X.shape[1]
    for cases in slices(len(lin.X), H * H * (D + 2)):
        part = lin[cases]
        L = (part.share.sqrt()[:, None, None] * C[cases].factor()).permute(2, 0, 1)  # the derivative by b
        A = part.project(L * part.scale)
        columns = [A[..., None] * part.features(), L[..., None], (L * part.unit)[..., None]]
        yield torch.cat(columns[: 2 + part.has_gain], -1).flatten(2).flatten(0, 1)
