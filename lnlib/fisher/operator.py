r"""The exact Fisher information as a linear operator: products, solves, null space, without the matrix.

The factor B of $F = B^\top B$ has H rows a case, $\sqrt{\omega_n}L_n^\top J_n$ with $L_nL_n^\top = C_n$. Its
singular values are the roots of F's, so that a rank read off B is sound to twice as many digits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.dense import matrix
from lnlib.fisher.linearization import CHUNK_NUMBERS, Linearization, linearize, slices
from lnlib.fisher.matrix_free import MatrixFree
from lnlib.glm import GLM
from lnlib.glm.covariance import OutputCovariance
from lnlib.glm.model import Weights
from lnlib.norms.checks import is_eps

__all__ = ["FisherOperator", "NullSpace", "factor"]

CORRECTIONS = 3  # each gains log10(damping / (round-off * size of F)) digits: the last one is for hard cases


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


class FisherOperator(MatrixFree):
    r"""$v \mapsto Fv = E_n[J_n^\top C_n J_n v]$ in O(NHD) time and O(NH) memory beside the data.

    `F @ v` and `to_scipy` are those of :class:`MatrixFree`.

    *Source* Eq. (9) for the models of Eqs. (12)-(13); the factorization is ours.

    Args:
        glm: the model.
        X: cases, (N, D).
        weights: of the cases, (N,).
        printed: Eq. (13) as printed instead.

    >>> glm = GLM("gaussian", torch.tensor([[2.0]]), torch.tensor([0.0]))
    >>> FisherOperator(glm, torch.tensor([[1.0], [3.0]])) @ torch.tensor([1.0, 0.0])
    tensor([5., 2.])
    """

    def __init__(
        self, glm: GLM, X: Float[Tensor, "N D"], weights: Weights = None, *, printed: bool = False
    ) -> None:
        self.glm, self.X = glm, X
        lin = linearize(glm, X, weights)
        self.linearization = lin.printed() if printed else lin
        with torch.no_grad():
            self.covariance = glm.scaled_covariance(X, weights)
        super().__init__(X, glm.theta.numel())

    def __repr__(self) -> str:
        return f"FisherOperator({self.glm!r}, N={len(self.X)}, P={self.shape[0]})"

    @torch.no_grad()
    def matmat(self, V: Float[Tensor, "P K"]) -> Float[Tensor, "P K"]:
        """F V, as many columns at a time as fit the memory."""
        lin, glm = self.linearization, self.glm
        parts = V.mT.split(max(1, CHUNK_NUMBERS // lin.unit.numel()))
        pulled = [lin.pull(self.covariance.times(lin.push(*glm.unpack(rows)))) for rows in parts]
        return torch.cat([glm.pack(*each) for each in pulled]).mT

    def to_dense(self) -> Float[Tensor, "P P"]:
        """The matrix, by its closed form."""
        return matrix(self.linearization, self.covariance)

    @torch.no_grad()
    def diagonal(self) -> Float[Tensor, " P"]:
        """The diagonal of F in O(NHD + NH^2)."""
        lin, C = self.linearization, self.covariance
        curvature = lin.scale.square() * C.variance()
        if lin.shared:
            parts = slices(len(lin.unit), lin.unit.shape[1] ** 2)
            curvature = torch.cat([lin[n].sandwich(C[n].dense())[1].diagonal(dim1=1, dim2=2) for n in parts])
        return squares(lin, curvature, C.variance()).clamp(min=0)

    def trace(self) -> float:
        """The sum of the eigenvalues of F."""
        return float(self.diagonal().sum())

    @torch.no_grad()
    def solve(self, v: Float[Tensor, " P"], damping: float) -> Float[Tensor, " P"]:
        r"""$(F + \lambda I)^{-1}v$ by Cholesky on the smaller side, P parameters or NH outputs, then refined.

        On the outputs' side it is $(v - B^\top(BB^\top + \lambda I)^{-1}Bv)/\lambda$ with $F = B^\top B$.
        The residual $\|Fx + \lambda x - v\|$ comes down to round-off times $\|F\|\|x\| + \|v\|$. The smaller
        side's square has to fit the memory; else use `scipy.sparse.linalg.cg` on `to_scipy()`.

        Args:
            v: right side, such as a gradient.
            damping: $\lambda > 0$, in the units of F.

        Raises:
            ValueError: a right side with NaN or infinity; damping that is not positive (F of a normalized
                model is singular) or vanishes beside F in floating point.
        """
        self.check_vector(v, most=1)
        if not bool(torch.isfinite(v).all()):
            raise ValueError("the right side contains NaN or infinity; no step solves for it")
        if not is_eps(damping) or damping == 0:
            raise ValueError(
                f"damping is {damping!r}; F is singular for normalized models, give a number > 0"
            )
        N, H = self.linearization.unit.shape
        B = torch.cat([*factor(self.linearization, self.covariance)]) if len(v) > N * H else None
        A = self.to_dense() if B is None else B @ B.mT
        size = float(A.diagonal().max())
        A.diagonal().add_(damping)
        L, failed = torch.linalg.cholesky_ex(A)
        x, residual = torch.zeros_like(v), v
        for _ in range(0 if failed else 1 + CORRECTIONS):  # as long as they shrink the residual
            side = torch.cholesky_solve((residual if B is None else B @ residual)[:, None], L).squeeze(1)
            new = x + (side if B is None else (residual - B.mT @ side) / damping)
            left = v - self.matvec(new) - damping * new
            if not left.norm() < residual.norm():
                break
            x, residual = new, left
        if bool(v.any()) and not bool(x.any()):
            raise ValueError(
                f"damping {damping:g} disappears beside entries of F of {size:.1e} in {A.dtype}; "
                f"give {100 * torch.finfo(A.dtype).eps * size:.1e} or more, or use float64"
            )
        return x

    @torch.no_grad()
    def null_space(self, tolerance: float | None = None) -> NullSpace:
        """Directions that no case sees, the singular values behind the count, and the gap between them.

        Args:
            tolerance: relative to the largest singular value; None: max(NH, P) times the unit round-off.

        Raises:
            ValueError: a tolerance outside 0..1.
        """
        if tolerance is not None and not 0 <= tolerance < 1:
            raise ValueError(f"tolerance is {tolerance}; it is relative, give a number in 0..1")
        lin, C = self.linearization, self.covariance
        # Columns are divided by their norm before the projections of the normalization, so that neither the
        # units of a feature nor a cancellation to 0 changes the rank.
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
    """B, some cases at a time: enough that a block has twice as many rows as F, or more."""
    H, D = lin.unit.shape[1], lin.X.shape[1]
    step = max(2 * (D + 2), CHUNK_NUMBERS // (H * H * (D + 2)))
    for cases in (slice(start, start + step) for start in range(0, len(lin.X), step)):
        part = lin[cases]
        L = (part.share.sqrt()[:, None, None] * C[cases].factor()).permute(2, 0, 1)  # the derivative by b
        A = part.project(L * part.scale)
        columns = [A[..., None] * part.features(), L[..., None], (L * part.unit)[..., None]]
        yield torch.cat(columns[: 2 + part.has_gain], -1).flatten(2).flatten(0, 1)


def squares(
    lin: Linearization, curvature: Float[Tensor, "N H"], variance: Float[Tensor, "N H"]
) -> Float[Tensor, " P"]:
    r"""$E[k_i\chi_i^2]$, $E[v_i]$ and $E[v_i\hat a_i^2]$ of each unit, for curvatures k and variances v."""
    curvature, variance = lin.share[:, None] * curvature, lin.share[:, None] * variance
    w = curvature.mT @ lin.X.square()
    if lin.U is not None:
        crossed = (curvature * lin.unit).mT @ lin.X
        w = w - lin.U * (2 * crossed - lin.U * (curvature * lin.unit.square()).sum(0)[:, None])
    columns = [w, variance.sum(0)[:, None], (variance * lin.unit.square()).sum(0)[:, None]]
    return torch.cat(columns[: 2 + lin.has_gain], 1).flatten()
