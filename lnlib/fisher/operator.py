r"""The exact Fisher information as a linear operator that never forms its matrix."""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.dense import diagonal, matrix
from lnlib.fisher.linearization import CHUNK_NUMBERS, linearize
from lnlib.fisher.matrix_free import MatrixFree
from lnlib.fisher.null_space import NullSpace, factor, null_space
from lnlib.glm import GLM
from lnlib.glm.model import Weights
from lnlib.norms.checks import is_eps

__all__ = ["FisherOperator"]

CORRECTIONS = 3  # each gains log10(damping / (round-off * size of F)) digits: the last one is for hard cases


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
        self,
        glm: GLM,
        X: Float[Tensor, "N D"],
        weights: Weights = None,
        *,
        printed: bool = False,
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
        return diagonal(self.linearization, self.covariance)

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
        B = None
        if len(v) > N * H:
            B = torch.cat(list(factor(self.linearization, self.covariance)))
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

    def null_space(self, tolerance: float | None = None) -> NullSpace:
        """Directions that no case sees, the singular values behind the count, and the gap between them.

        Args:
            tolerance: relative to the largest singular value; None: max(NH, P) times the unit round-off.

        Raises:
            ValueError: a tolerance outside 0..1.
        """
        if tolerance is not None and not 0 <= tolerance < 1:
            raise ValueError(f"tolerance is {tolerance}; it is relative, give a number in 0..1")
        return null_space(self.linearization, self.covariance, tolerance)
