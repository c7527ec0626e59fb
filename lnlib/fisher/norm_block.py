r"""The curvature of a norm layer and of the linear layer in front of it, in closed form inside any network.

With $B_{nt} = \partial z_n/\partial y_{nt}$ what the rest of the network makes of the norm's output
$y = g\odot\hat a + b$, $\hat a = (a - \mu)/\sigma$, $\sigma^2 = \mathrm{Var}\,a + \epsilon$, $a = Wx + c$:

$$dz_n = \sum_t B_{nt}\Big[\hat a_{nt}\odot dg + db
  + \tfrac{1}{\sigma_{nt}}\,g\odot P_{nt}\,(dW x_{nt} + dc)\Big],\qquad
P = I - \tfrac{11^\top}{H} - \tfrac{\hat a\hat a^\top}{H}.$$

RMSNorm has no $11^\top/H$. $P1 = 0$ always; $P\hat a = \frac{\epsilon}{\mathrm{Var}\,a+\epsilon}\hat a$, so
that P is a projection at $\epsilon = 0$ only.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from lnlib.fisher.ggn import case_shares, likelihood
from lnlib.fisher.linearization import Linearization
from lnlib.fisher.matrix_free import Products
from lnlib.fisher.network import network
from lnlib.fisher.norm_layer import norm_layer

__all__ = ["LinearBlock", "linear_block", "norm_block"]


def norm_block(
    model: nn.Module,
    X: Shaped[Tensor, "N ..."],
    norm: str,
    family: str = "categorical",
    weights: Float[Tensor, " N"] | None = None,
    dispersion: float = 1.0,
) -> Products:
    r"""The exact Fisher block of a norm layer's gain and bias, by K backward passes in all.

    $F = E_n[J_n^\top C_nJ_n]$ with $J_n = \sum_t B_{nt}\,[\mathrm{diag}(\hat a_{nt}),\ I]$: (2H, 2H), in the
    order of the layer's parameters, gain (`weight`), then bias if there is one.

    *Source* the definition, :class:`GGN`; the form ours.

    Args:
        model, X, family, weights, dispersion: as of :class:`GGN`.
        norm: the layer's name in `named_modules`: layer, RMS or group norm, of lnlib or of torch.nn.

    Raises:
        ValueError: no such layer, no gain, a layer that is called more than once.

    >>> model = nn.Sequential(nn.LayerNorm(2, eps=0.0))
    >>> norm_block(model, torch.tensor([[1.0, 3.0]]), "0", "gaussian").to_dense().diagonal()
    tensor([1., 1., 1., 1.])
    """
    net = network(model, X, None)
    layer = norm_layer(net, norm)
    if layer.module.weight is None:
        raise ValueError(f"{norm!r} has no gain and no bias, hence no block; build it with its parameters")
    B = layer.back
    parts = [torch.einsum("ntkh,nth->nkh", B, layer.unit)]
    if getattr(layer.module, "bias", None) is not None:
        parts.append(B.sum(1))
    J = torch.cat(parts, -1)
    C = likelihood(family, layer.outputs, dispersion).scaled_covariance(layer.outputs, dispersion)
    share = case_shares(X, weights, net.like)[:, None, None]

    def columns(V: Tensor) -> Tensor:
        return torch.einsum("nkp,njk->pj", J, share * C.times(torch.einsum("nkp,pj->njk", J, V)))

    return Products(columns, net.like, J.shape[-1])


@dataclass(frozen=True)
class LinearBlock:
    r"""The block of a linear layer in front of a norm, exact and as a Kronecker product.

    Attributes:
        exact: (P, P), P = H (D + 1) or H D, in the order of the layer's parameters, weight then bias.
        kronecker: $S\otimes A$ in the same order, what K-FAC takes for it.
        outputs: $S = \sum_t E_n[E_{nt}C_nE_{nt}^\top]$, (H, H), the projected factor, with
            $E_{nt} = P_{nt}\,(g\odot B_{nt}^\top)/\sigma_{nt}$. Layer norm's has $S1 = 0$.
        inputs: $A = E_{nt}[\tilde x\tilde x^\top]$, $\tilde x = (x, 1)$ with a bias.
    """

    exact: Products
    kronecker: Products
    outputs: Float[Tensor, "H H"]
    inputs: Float[Tensor, "E E"]


def linear_block(
    model: nn.Module,
    X: Shaped[Tensor, "N ..."],
    linear: str,
    norm: str,
    family: str = "categorical",
    weights: Float[Tensor, " N"] | None = None,
    dispersion: float = 1.0,
) -> LinearBlock:
    r"""The Fisher block of a linear layer that feeds a norm and nothing else; the projection explicit.

    $F = E_n[J_n^\top C_nJ_n]$ with $J_n(dW) = \sum_t B_{nt}\,g\odot P_{nt}\,dW\tilde x_{nt}/\sigma_{nt}$.
    With one position a case $F = E_n[S_n\otimes\tilde x_n\tilde x_n^\top]$, and K-FAC takes the product of
    the means for the mean of the products. Neither sees the rows' common vector (under layer norm); only the
    exact block does not see the scale of W at $\epsilon = 0$ either: $P_{nt}$ hides another $\hat a_{nt}$ in
    each case, and their mean hides none.

    *Source* Martens and Grosse (2015) for the factors; Eschenhagen et al. (2023), K-FAC-expand,
    for several positions; the projection ours.

    Args:
        model, X, family, weights, dispersion: as of :class:`GGN`.
        linear, norm: names in `named_modules`: a `torch.nn.Linear` and the layer or RMS norm that it feeds.

    Raises:
        ValueError: layers that do not follow each other, a residual connection around the norm, group norm,
            layers that are called more than once.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)).double()
    >>> S = linear_block(model, torch.ones(1, 3).double(), "0", "1", "gaussian").outputs
    >>> bool(S.sum(0).norm() < 1e-12 * S.norm())
    True
    """
    net = network(model, X, None)
    layer = norm_layer(net, norm, linear)
    if isinstance(layer.module, nn.GroupNorm):
        raise ValueError(f"{norm!r} is a group norm; the closed form is that of layer and RMS norm: use GGN")
    assert layer.inputs is not None, "norm_layer was given a linear layer"
    N, T, _, H = layer.back.shape
    x, bias = layer.inputs.flatten(0, 1), net.model.get_submodule(linear).bias is not None
    if bias:
        x = torch.cat([x, x.new_ones(len(x), 1)], 1)
    D = x.shape[1]
    unit, scale = layer.unit.flatten(0, 1), layer.scale.flatten(0, 1).expand(N * T, H)
    if layer.module.weight is not None:
        scale = scale * layer.module.weight.detach()
    share = case_shares(X, weights, net.like)
    centered = isinstance(layer.module, nn.LayerNorm)
    lin = Linearization(x, unit, scale, share.repeat_interleave(T), True, centered, None, False)
    C = likelihood(family, layer.outputs, dispersion).scaled_covariance(layer.outputs, dispersion)

    def matrices(V: Tensor) -> Tensor:
        """(P, J) -> (J, H, D): weight and bias side by side."""
        W = V.mT[:, : H * (D - bias)].unflatten(1, (H, D - bias))
        return torch.cat([W, V.mT[:, H * (D - 1) :, None]], 2) if bias else W

    def vectors(M: Tensor) -> Tensor:
        parts = [M[:, :, : D - bias].flatten(1)] + ([M[:, :, -1]] if bias else [])
        return torch.cat(parts, 1).mT

    def exact(V: Tensor) -> Tensor:
        dy = lin.push(matrices(V), V.new_zeros(V.shape[1], H), None).unflatten(0, (N, T))
        R = C.times(torch.einsum("ntkh,ntjh->njk", layer.back, dy))
        back = torch.einsum("ntkh,njk->ntjh", layer.back, R).flatten(0, 1)
        return vectors(lin.pull(back)[0])

    rows = lin.project((layer.back.flatten(0, 1)) * scale[:, None, :])
    root = C.factor().mT * share[:, None, None].sqrt()
    E = (root.repeat_interleave(T, 0) @ rows).flatten(0, 1)
    S, A = E.mT @ E, x.mT @ (x * lin.share[:, None]) / T
    size = H * D
    return LinearBlock(
        Products(exact, x, size), Products(lambda V: vectors(S @ matrices(V) @ A), x, size), S, A
    )
