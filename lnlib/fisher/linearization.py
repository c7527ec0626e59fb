r"""The derivative of a normalized GLM's natural parameters, case by case, in the structure it has.

For a direction $(V, v_b, v_g)$ in parameter space
$$dz_n = s_n \odot (P_n V\tilde x_n - \hat a_n\odot\mathrm{diag}(U V^\top)) + v_b + \hat a_n\odot v_g.$$

===========  ====================  ===================================  =================  ===========
norm         $\tilde x$            $P_n$                                $U$                $s$
===========  ====================  ===================================  =================  ===========
None         $x$                   $I$                                  -                  1
batch        $x - E[x]$            $I$                                  $E[\hat a_i\tilde x]$  $g/\sigma_i$
weight       $x$                   $I$                                  $w_i/\|w_i\|$      $g/\|w_i\|$
layer        $x$                   $I - 11^\top/H - \hat a\hat a^\top/H$  -                $g/\sigma_n$
rms          $x$                   $I - \hat a\hat a^\top/H$            -                  $g/\sigma_n$
===========  ====================  ===================================  =================  ===========

Batch and weight norm give each unit statistics of its own, so a row of W moves its own unit only. Layer
norm and RMSNorm share theirs: $P_n$ couples the units, and that is what Eqs. (13)-(14) leave out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.glm import GLM
from lnlib.glm.model import Weights, weighted_mean
from lnlib.matmul import product

__all__ = ["CHUNK_NUMBERS", "Linearization", "linearize", "slices"]

CHUNK_NUMBERS = 2**20  # of one array over cases at a time: 8 MiB in float64, which caches keep


@dataclass(frozen=True)
class Linearization:
    r"""$J_n = \partial z_n/\partial\theta$ for all cases, never formed; the module's table names the parts.

    Attributes:
        X: $\tilde x$, (N, D). unit: $\hat a$, (N, H). scale: s, (N, H).
        share: weights of the cases, (N,), sum 1.
        shared: the statistics are shared by the units, so that $P_n$ is not the identity.
        centered: $P_n$ removes the mean of the units as well.
        U: (H, D), the direction of each row that its own statistics hide; None where there is none.
        has_gain: the model has gains.
    """

    X: Float[Tensor, "N D"]
    unit: Float[Tensor, "N H"]
    scale: Float[Tensor, "N H"]
    share: Float[Tensor, " N"]
    shared: bool = False
    centered: bool = False
    U: Float[Tensor, "H D"] | None = None
    has_gain: bool = True

    def __getitem__(self, cases: slice) -> "Linearization":
        """Some of the cases; statistics over cases stay those of all."""
        parts = {name: getattr(self, name)[cases] for name in ("X", "unit", "scale", "share")}
        return replace(self, **parts)

    def features(self) -> Float[Tensor, "N H D"]:
        r"""$\tilde x$ itself, or $\tilde x - \hat a_iu_i$ where the unit's own statistics hide $u_i$."""
        X = self.X[:, None, :].expand(-1, self.unit.shape[1], -1)
        return X if self.U is None else X - self.unit[:, :, None] * self.U

    def project(self, R: Float[Tensor, "*K N H"]) -> Float[Tensor, "*K N H"]:
        r"""$P_n r$: what shared statistics leave of a change of the summed inputs; $P_n$ is symmetric."""
        return self._keep(R - R.mean(-1, keepdim=True) if self.centered else R)

    def _keep(self, R: Float[Tensor, "*K N H"]) -> Float[Tensor, "*K N H"]:
        """P_n of what has no mean over the units."""
        if not self.shared:
            return R
        return torch.addcmul(R, self.unit, (self.unit * R).mean(-1, keepdim=True), value=-1)

    def sandwich(self, C: Float[Tensor, "N H H"]) -> tuple[Float[Tensor, "N H H"], Float[Tensor, "N H H"]]:
        r"""$T_nC_n$ and $T_nC_nT_n^\top$ for symmetric $C_n$, with $T_n = P_n\,\mathrm{diag}(s_n)$."""
        half = self.scale[:, :, None] * C
        whole = half * self.scale[:, None, :]
        if not self.shared:
            return half, whole
        # P = I - Q Q', two columns: P K P = K - Q Z' - Z Q' with Y = K Q, Z = Y - Q (Q' Y) / 2
        columns = [torch.ones_like(self.unit), self.unit] if self.centered else [self.unit]
        Q = torch.stack(columns, -1) / self.unit.shape[1] ** 0.5
        Y = whole @ Q
        Z = Y - Q @ (Q.mT @ Y) / 2
        whole = torch.baddbmm(whole, torch.cat([Q, Z], -1), torch.cat([Z, Q], -1).mT, alpha=-1)
        return torch.baddbmm(half, Q, Q.mT @ half, alpha=-1), whole

    def push(
        self, V: Float[Tensor, "*K H D"], b: Float[Tensor, "*K H"], g: Float[Tensor, "*K H"] | None
    ) -> Float[Tensor, "*K N H"]:
        r"""$dz = J(V, v_b, v_g)$ in O(NHD), for one direction or K."""
        if self.centered:  # the mean over units comes off the rows of V, which are fewer than the cases
            V = V - V.mean(-2, keepdim=True)
        da = self._keep(product(self.X, V.flatten(0, -2).mT).unflatten(1, V.shape[:-1]).movedim(0, -2))
        if self.U is not None:
            da = torch.addcmul(da, self.unit, (self.U * V).sum(-1)[..., None, :], value=-1)
        dz = torch.addcmul(b[..., None, :], self.scale, da)
        return dz if g is None else torch.addcmul(dz, self.unit, g[..., None, :])

    def pull(
        self, R: Float[Tensor, "*K N H"]
    ) -> tuple[Float[Tensor, "*K H D"], Float[Tensor, "*K H"], Float[Tensor, "*K H"] | None]:
        r"""$E_n[J_n^\top r_n]$ in O(NHD), the expectation over the weighted cases."""
        E = self._keep(R * (self.scale * self.share[:, None]))
        V = product(E.movedim(-2, 0).flatten(1).mT, self.X).unflatten(0, (*R.shape[:-2], R.shape[-1]))
        if self.centered:
            V = V - V.mean(-2, keepdim=True)
        if self.U is not None:
            V = torch.addcmul(V, (E * self.unit).sum(-2)[..., None], self.U, value=-1)
        b, g = (torch.tensordot(self.share, r, ([0], [-2])) for r in (R, R * self.unit))
        return V, b, g if self.has_gain else None

    def kept(self) -> Float[Tensor, "N H"]:
        r"""The diagonal of $P_n$: $1 - 1/H - \hat a_i^2/H$ for layer norm, without 1/H for RMSNorm."""
        H = self.unit.shape[1]
        return 1 - self.unit.square() / H - self.centered / H if self.shared else torch.ones_like(self.unit)

    def printed(self) -> "Linearization":
        r"""What Eqs. (13)-(14) imply: of $P_n$ the diagonal, each unit moved by its own row only."""
        return replace(self, scale=self.scale * self.kept(), shared=False, centered=False)


@torch.no_grad()
def linearize(glm: GLM, X: Float[Tensor, "N D"], weights: Weights = None) -> Linearization:
    r"""Linearize a GLM over the given cases.

    Where a standard deviation is 0 (a constant row under layer norm, a constant unit under batch norm, with
    eps = 0) the normalized value is 0 by definition and does not move: $\hat a = s = 0$.
    """
    share = glm.case_weights(X, weights)
    a, U = X @ glm.W.mT, None
    if glm.gain is None:
        return Linearization(X, a, torch.ones_like(a), share, has_gain=False)
    shared, centered = glm.norm in ("layer", "rms"), glm.norm == "layer"
    if glm.norm == "weight":
        U, rstd = _standardize(glm.W, torch.ones_like(glm.W[0]), 0.0)
        rstd = rstd.mT
        unit = a * rstd
    elif glm.norm == "batch":
        unit, rstd = (t.mT for t in _standardize((a - weighted_mean(a, share)).mT, share, glm.eps))
        X = X - weighted_mean(X, share)
        U = (unit * share[:, None]).mT @ X
    else:
        if centered:
            a = a - a[:, :1]  # a shift changes nothing; equal values become exact zeros
            a = a - a.mean(1, keepdim=True)
        unit, rstd = _standardize(a, torch.full_like(a[0], 1 / a.shape[1]), glm.eps)
    return Linearization(X, unit, (glm.gain * rstd).expand_as(a), share, shared, centered, U)


def _standardize(
    d: Float[Tensor, "K M"], share: Float[Tensor, " M"], eps: float
) -> tuple[Float[Tensor, "K M"], Float[Tensor, "K 1"]]:
    r"""$d/\sigma$ and $1/\sigma$ with $\sigma^2 = \sum_m\omega_m d_{km}^2 + \epsilon$; 0 where $\sigma$ is.

    In units of the largest entry, in which no square leaves the range.
    """
    size = (d.abs() * (share > 0)).amax(1, keepdim=True).clamp(min=eps**0.5)
    size = size.masked_fill(size == 0, torch.inf)
    d = d / size
    square = torch.where(share > 0, d, 0).square() @ share[:, None]
    root = (square + (eps**0.5 / size).square()).sqrt().masked_fill(size == torch.inf, 1)
    return d / root, 1 / (size * root)


def slices(cases: int, numbers: int) -> Iterator[slice]:
    """The cases, as many at a time as have CHUNK_NUMBERS together, with so many each; at least one."""
    step = max(1, CHUNK_NUMBERS // numbers)
    return (slice(start, start + step) for start in range(0, cases, step))
