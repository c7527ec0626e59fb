r"""Damped natural-gradient directions: $(F + \lambda I)^{-1}v$ on the smaller side, parameters or outputs."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.factor import gram
from lnlib.fisher.linearization import Linearization
from lnlib.glm import GLM
from lnlib.glm.covariance import OutputCovariance

__all__ = ["dense_solver", "refined", "woodbury_solver"]

Vector = Float[Tensor, " P"]
CORRECTIONS = 3  # each gains log10(damping / (round-off * size of F)) digits: the last one is for hard cases


@torch.no_grad()
def dense_solver(F: Float[Tensor, "P P"], damping: float) -> Callable[[Vector], Vector]:
    r"""$v \mapsto (F + \lambda I)^{-1}v$ by Cholesky; overwrites F."""
    L = _cholesky(F, damping)
    return lambda v: torch.cholesky_solve(v[:, None], L).squeeze(1)


@torch.no_grad()
def woodbury_solver(
    glm: GLM, lin: Linearization, C: OutputCovariance, damping: float
) -> Callable[[Vector], Vector]:
    r"""$v \mapsto (B^\top B + \lambda I)^{-1}v = (v - B^\top(BB^\top + \lambda I)^{-1}Bv)/\lambda$.

    Costs $O(N^2H^2(H + D) + N^3H^3)$ once and never forms B. The subtraction loses about
    $\log_{10}(\|F\|/\lambda)$ digits along the directions that F sees; `refined` gets them back.
    """
    K, L, root = _cholesky(gram(lin, C), damping), C.factor(), lin.share.sqrt()[:, None]

    def solve(v: Vector) -> Vector:
        Bv = root * (L.mT @ lin.push(*glm.unpack(v))[:, :, None]).squeeze(2)
        r = torch.cholesky_solve(Bv.flatten()[:, None], K).view_as(Bv)
        back = (L @ r[:, :, None]).squeeze(2) / root.where(root > 0, 1)  # pull multiplies by the share
        return (v - glm.pack(*lin.pull(back))) / damping

    return solve


@torch.no_grad()
def refined(
    solver: Callable[[Vector], Vector], product: Callable[[Vector], Vector], v: Vector, damping: float
) -> Vector:
    r"""The solution after corrections by its residual $v - Fx - \lambda x$, as long as they shrink it.

    Raises ValueError if not even the first one does: round-off beside the damping leaves no digit.
    """
    x, best = torch.zeros_like(v), torch.linalg.vector_norm(v)
    residual = v
    for _ in range(1 + CORRECTIONS):
        new = x + solver(residual)
        residual = v - product(new) - damping * new
        size = torch.linalg.vector_norm(residual)
        if not size < best:
            break
        x, best = new, size
    if best > 0 and not bool(x.any()):
        raise ValueError(
            f"damping {damping:g} is too small beside F for {v.dtype}: no digit of the solution is left; "
            "give more, or use float64"
        )
    return x


def _cholesky(A: Float[Tensor, "K K"], damping: float) -> Float[Tensor, "K K"]:
    """The triangular factor of A + damping I; overwrites A."""
    size = float(A.diagonal().max())
    A.diagonal().add_(damping)
    L, failed = torch.linalg.cholesky_ex(A)
    if bool(failed):
        raise ValueError(
            f"damping {damping:g} disappears beside entries of F of {size:.1e} in {A.dtype}; "
            f"give {100 * torch.finfo(A.dtype).eps * size:.1e} or more, or use float64"
        )
    return L
