r"""The Fisher information matrix of a (normalized) GLM in closed form: Eqs. (9), (12) and (13).

With $M = P\,\mathrm{diag}(s)$ and $S = MCM^\top$ the block of $w_i$ and $w_j$ is
$\sum_n S_{ij}\,\chi_i\chi_j^\top$, that of $w_i$ and $b_j$ is $\sum_n (MC)_{ij}\,\chi_i$, that of $b_i$ and
$b_j$ is $\sum_n C_{ij}$, and g takes $\hat a$ where b takes 1. Here $\chi_i = x$, less what the unit's own
statistics hide of it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.linearization import Linearization, linearize, slices
from lnlib.glm import GLM
from lnlib.glm.covariance import OutputCovariance
from lnlib.glm.model import Weights
from lnlib.matmul import product

__all__ = ["chi", "fisher", "kl", "matrix", "printed_eq13"]


def kl(glm: GLM, other: GLM, X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, ""]:
    r"""$E_x\,D_{KL}\big[P(y|x;\theta)\,\|\,P(y|x;\theta')\big]$, exactly; differentiable in both models.

    *Source* Eq. (8), left side. *Erratum* the print has no expectation over x on this side.

    Args:
        glm, other: models of one family, dispersion and number of units.
        X: cases, (N, D).
        weights: of the cases, (N,), normalized to sum 1.

    >>> one = GLM("gaussian", torch.tensor([[2.0]]), torch.tensor([0.0]))
    >>> two = GLM("gaussian", torch.tensor([[2.0]]), torch.tensor([0.5]))
    >>> kl(one, two, torch.tensor([[1.0], [3.0]]))
    tensor(0.1250)
    """
    return glm.case_weights(X, weights) @ glm.kl(other, X, weights)


@torch.no_grad()
def fisher(glm: GLM, X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, "P P"]:
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
    return matrix(linearize(glm, X, weights), glm.scaled_covariance(X, weights))


@torch.no_grad()
def printed_eq13(glm: GLM, X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, "P P"]:
    r"""Eq. (13) as printed, with $\chi$ of Eq. (14); arguments and order as for `fisher`.

    *Erratum* exact for batch norm, its statistics differentiated, and for weight norm; not
    for layer norm (nor RMSNorm), whose units share their statistics: the print moves unit i by row i only.
    """
    return matrix(linearize(glm, X, weights).printed(), glm.scaled_covariance(X, weights))


def chi(glm: GLM, X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, "N H D"]:
    r"""Eq. (14): $\chi_i = x - \partial_{w_i}\mu_i - \frac{a_i-\mu_i}{\sigma_i}\,\partial_{w_i}\sigma_i$.

    Batch norm: $x - E[x] - \hat a_i E[\hat a_i x]$. Weight norm: $x - \hat a_i w_i/\|w_i\|$. Layer norm:
    $(1 - 1/H - \hat a_i^2/H)\,x$. Arguments as for `fisher`.
    """
    lin = linearize(glm, X, weights)
    return lin.kept()[:, :, None] * lin.features()


@torch.no_grad()
def matrix(lin: Linearization, C: OutputCovariance) -> Float[Tensor, "P P"]:
    """The Fisher matrix of a linearized model and its outputs' covariance, in the order of theta."""
    (N, D), H = lin.X.shape, lin.unit.shape[1]
    columns = D + 1 + lin.has_gain
    F = lin.X.new_zeros(H, columns, H, columns)
    for cases in slices(N, H * max(H, D)):
        part = lin[cases]
        covariance = part.share[:, None, None] * C[cases].dense()
        MC, S = part.sandwich(covariance)
        chi, ones = part.features(), torch.ones_like(part.unit)
        by = torch.stack([ones, part.unit] if lin.has_gain else [ones], -1)  # derivatives by b and g
        F[:, D:, :, D:] += torch.einsum("nij,nik,njl->ikjl", covariance, by, by)
        for i in range(H):
            rows = chi[:, i].mT.contiguous()
            F[i, :D, :, D:] += product(rows, (MC[:, i, :, None] * by).flatten(1)).view(D, H, -1)
            F[i, :D, i:, :D] += product(rows, (S[:, i, i:, None] * chi[:, i:]).flatten(1)).view(D, -1, D)
    for i in range(H):
        F[i + 1 :, :D, i, :D] = F[i, :D, i + 1 :, :D].permute(1, 2, 0)
    F[:, D:, :, :D] = F[:, :D, :, D:].permute(2, 3, 0, 1)
    return F.view(H * columns, H * columns)
