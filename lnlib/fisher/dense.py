r"""The Fisher information matrix of a (normalized) GLM in closed form: Eqs. (9), (12) and (13)."""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.assemble import CHUNK_NUMBERS, assemble
from lnlib.fisher.linearization import Linearization, linearize
from lnlib.glm import GLM
from lnlib.glm.covariance import OutputCovariance

__all__ = ["chi", "fisher", "printed_eq13"]


def fisher(
    glm: GLM, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
) -> Float[Tensor, "P P"]:
    r"""The exact Fisher information matrix: outcomes in expectation under the model, cases averaged.

    $F = E_x\big[J^\top \tfrac{\mathrm{Cov}[y|x]}{\phi^2} J\big]$ with $J = \partial z/\partial\theta$, all
    derivatives of the normalization included. For layer norm, with $G = \mathrm{diag}(g)$,
    $C = \mathrm{Cov}/\phi^2$ and $P = I - \frac{11^\top}{H} - \frac{\hat a\hat a^\top}{H}$,
    $F_{w_iw_j} = E[(PGCGP)_{ij}\,xx^\top/\sigma^2]$, where Eq. (13) prints the diagonal of P for P.

    *Source* Eq. (9); Eq. (12) without a norm; Eq. (13) for batch and weight norm; ours for layer norm and
    RMSNorm.

    Args:
        glm: the model.
        X: cases, (N, D).
        weights: of the cases, (N,), normalized to sum 1.

    Returns:
        (P, P), parameters ordered [w_1, b_1, g_1, w_2, ...] as in `glm.theta`, no g without a norm.

    Raises:
        ValueError: features or weights that do not fit, or a gamma model outside its natural domain.

    >>> glm = GLM("gaussian", torch.tensor([[2.0]]), torch.tensor([0.0]))
    >>> fisher(glm, torch.tensor([[1.0], [3.0]]))
    tensor([[5., 2.],
            [2., 1.]])
    """
    return assemble(linearize(glm, X, weights), _covariance(glm, X, weights))


def printed_eq13(
    glm: GLM, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
) -> Float[Tensor, "P P"]:
    r"""Eq. (13) as printed, with $\chi$ of Eq. (14); arguments and order as for `fisher`.

    *Erratum* exact for batch norm with differentiated statistics, for frozen ones and for weight norm; not
    for layer norm (nor RMSNorm), whose units share their statistics: the print moves unit i by row i only.
    """
    return assemble(linearize(glm, X, weights).printed(), _covariance(glm, X, weights))


def chi(
    glm: GLM, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
) -> Float[Tensor, "N H D"]:
    r"""Eq. (14): $\chi_i = x - \partial_{w_i}\mu_i - \frac{a_i-\mu_i}{\sigma_i}\,\partial_{w_i}\sigma_i$.

    Batch norm: $x - E[x] - \hat a_i E[\hat a_i x]$. Weight norm: $x - \hat a_i w_i/\|w_i\|$. Layer norm:
    $(1 - 1/H - \hat a_i^2/H)\,x$. Arguments as for `fisher`.
    """
    lin = linearize(glm, X, weights)
    if lin.shared:
        H = lin.unit.shape[1]
        kept = 1 - lin.unit.square() / H - (1 / H if lin.centered else 0)
        return kept[:, :, None] * lin.X[:, None, :]
    out = lin.X[:, None, :].repeat(1, lin.unit.shape[1], 1)
    return out if lin.U is None else out - lin.unit[:, :, None] * lin.U


@torch.no_grad()
def _covariance(glm: GLM, X: Tensor, weights: Tensor | None) -> OutputCovariance:
    return glm.scaled_covariance(X, weights)


@torch.no_grad()
def diagonal(lin: Linearization, C: OutputCovariance) -> Float[Tensor, " P"]:
    r"""The diagonal of the matrix: of each unit $E[S_{ii}\chi_i^2]$, $E[C_{ii}]$, $E[C_{ii}\hat a_i^2]$."""
    variance = C.variance()
    curvature = lin.scale.square() * variance
    if lin.shared:
        chunk = max(1, CHUNK_NUMBERS // lin.unit.shape[1] ** 2)
        parts = (slice(k, min(k + chunk, C.cases)) for k in range(0, C.cases, chunk))
        curvature = torch.cat([lin[n].sandwich(C[n].dense())[1].diagonal(dim1=1, dim2=2) for n in parts])
    curvature, variance = lin.share[:, None] * curvature, lin.share[:, None] * variance
    w = curvature.mT @ lin.X.square()
    if lin.U is not None:
        crossed = (curvature * lin.unit).mT @ lin.X
        w = w - lin.U * (2 * crossed - lin.U * (curvature * lin.unit.square()).sum(0)[:, None])
    columns = [w.clamp(min=0), variance.sum(0)[:, None]]
    if lin.has_gain:
        columns.append((variance * lin.unit.square()).sum(0)[:, None])
    return torch.cat(columns, 1).flatten()
