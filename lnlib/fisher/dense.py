r"""The Fisher information matrix of a (normalized) GLM in closed form: Eqs. (9), (12) and (13)."""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.covariance import OutputCovariance
from lnlib.fisher.linearization import Linearization, linearize
from lnlib.fisher.moments import second_moments
from lnlib.glm import GLM

__all__ = ["chi", "fisher", "printed_eq13"]

CHUNK_NUMBERS = 2**24  # of one case-by-case array at a time: 128 MiB in float64


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
        glm: the model. X: cases, (N, D). weights: of the cases, (N,), normalized to sum 1.

    Returns:
        (P, P), parameters ordered [w_1, b_1, g_1, w_2, ...] as in `glm.theta`, no g without a norm.

    Raises:
        ValueError: features or weights that do not fit, or a gamma model outside its natural domain.

    >>> glm = GLM("gaussian", torch.tensor([[2.0]]), torch.tensor([0.0]))
    >>> fisher(glm, torch.tensor([[1.0], [3.0]]))
    tensor([[5., 2.],
            [2., 1.]])
    """
    return _assemble(glm, linearize(glm, X, weights), glm.scaled_covariance(X, weights))


def printed_eq13(
    glm: GLM, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
) -> Float[Tensor, "P P"]:
    r"""Eq. (13) as printed, with $\chi$ of Eq. (14); arguments and order as for `fisher`.

    *Erratum* exact for batch norm with differentiated statistics, for frozen ones and for weight norm; not
    for layer norm (nor RMSNorm), whose units share their statistics: the print moves unit i by row i only.
    """
    return _assemble(glm, linearize(glm, X, weights).printed(), glm.scaled_covariance(X, weights))


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
def _assemble(glm: GLM, lin: Linearization, C: OutputCovariance) -> Float[Tensor, "P P"]:
    """Sum the blocks over chunks of cases, then interleave them as theta is."""
    (N, D), H = lin.X.shape, lin.unit.shape[1]
    columns = D + 1 + lin.has_gain
    F = lin.X.new_zeros(H, columns, H, columns)
    chunk = max(1, CHUNK_NUMBERS // max(H * H, D))
    for start in range(0, N, chunk):
        cases = slice(start, min(start + chunk, N))
        _add(F, lin[cases], C[cases].dense())
    return F.reshape(H * columns, H * columns)


def _add(F: Float[Tensor, "H C H C"], lin: Linearization, C: Float[Tensor, "N H H"]) -> None:
    """Add the blocks of some cases: w-w, w-b, w-g, b-b, b-g, g-g."""
    D, unit = lin.X.shape[1], lin.unit
    C = C * lin.share[:, None, None]
    MC = lin.project((lin.scale[:, :, None] * C).mT).mT  # (P G/std) C: rows w_i, columns z_j
    S = lin.project(lin.scale[:, None, :] * MC)  # (P G/std) C (G/std P)
    ww = second_moments(S, lin.X)
    if lin.U is not None:
        ww = ww + _hidden(S, lin)
    F[:, :D, :, :D] += ww
    others = (
        MC if not lin.has_gain else torch.stack([MC, MC * unit[:, None, :]], -1)
    )  # (N, H, H, b or b and g)
    others = others.reshape(*MC.shape, -1)
    wz = torch.einsum("nd,nijk->idjk", lin.X, others)
    if lin.U is not None:
        wz = wz - lin.U[:, :, None, None] * torch.einsum("ni,nijk->ijk", unit, others)[:, None]
    F[:, :D, :, D:] += wz
    F[:, D:, :, :D] += wz.permute(2, 3, 0, 1)
    ones = torch.ones_like(unit)
    side = torch.stack([ones, unit], -1) if lin.has_gain else ones[:, :, None]  # dz_i / d(b_i, g_i)
    F[:, D:, :, D:] += torch.einsum("nij,nik,njl->ikjl", C, side, side)


def _hidden(S: Float[Tensor, "N H H"], lin: Linearization) -> Float[Tensor, "H D H D"]:
    r"""What $\chi_i = \tilde x - \hat a_i u_i$ takes from and adds to the plain second moments."""
    assert lin.U is not None
    U, unit = lin.U, lin.unit
    k = torch.einsum("nij,ni,ne->ije", S, unit, lin.X)  # sum_n S_ij a_i x
    kappa = torch.einsum("nij,ni,nj->ij", S, unit, unit)
    left = U[:, :, None, None] * k[:, None]  # u_i k_ij'
    both = U[:, :, None, None] * kappa[:, None, :, None] * U[None, None]
    return both - left - left.permute(2, 3, 0, 1)
