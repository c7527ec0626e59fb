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

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.glm import GLM
from lnlib.matmul import product

__all__ = ["Linearization", "linearize", "standardized_rows"]


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
    shared: bool
    centered: bool
    U: Float[Tensor, "H D"] | None
    has_gain: bool

    def __getitem__(self, cases: slice) -> "Linearization":
        """Some of the cases; statistics over cases stay those of all."""
        return replace(
            self,
            X=self.X[cases],
            unit=self.unit[cases],
            scale=self.scale[cases],
            share=self.share[cases],
        )

    def features(self) -> Float[Tensor, "N H D"]:
        r"""$\tilde x$ itself, or $\tilde x - \hat a_iu_i$ where the unit's own statistics hide $u_i$."""
        X = self.X[:, None, :].expand(-1, self.unit.shape[1], -1)
        return X if self.U is None else X - self.unit[:, :, None] * self.U

    def project(self, R: Float[Tensor, "N *K H"]) -> Float[Tensor, "N *K H"]:
        r"""$P_n r$: what shared statistics leave of a change of the summed inputs; $P_n$ is symmetric."""
        if not self.shared:
            return R
        unit = self._like(self.unit, R)
        out = R - unit * (unit * R).mean(-1, keepdim=True)
        return out - R.mean(-1, keepdim=True) if self.centered else out

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
    ) -> Float[Tensor, "N *K H"]:
        r"""$dz = J(V, v_b, v_g)$ in O(NHD), for one direction or K."""
        if self.centered:  # the mean over units comes off the rows of V, which are fewer than the cases
            V = V - V.mean(-2, keepdim=True)
        da = product(self.X, V.flatten(0, -2).mT).unflatten(1, V.shape[:-1])
        unit = self._like(self.unit, da)
        if self.shared:
            da = torch.addcmul(da, unit, (unit * da).mean(-1, keepdim=True), value=-1)
        if self.U is not None:
            da = torch.addcmul(da, unit, (self.U * V).sum(-1), value=-1)
        dz = torch.addcmul(b, self._like(self.scale, da), da)
        return dz if g is None else torch.addcmul(dz, unit, g)

    def pull(
        self, R: Float[Tensor, "N *K H"]
    ) -> tuple[Float[Tensor, "*K H D"], Float[Tensor, "*K H"], Float[Tensor, "*K H"] | None]:
        r"""$E_n[J_n^\top r_n]$ in O(NHD), the expectation over the weighted cases."""
        unit = self._like(self.unit, R)
        E = R * self._like(self._weighted_scale, R)
        b = (self.share @ R.flatten(1)).unflatten(0, R.shape[1:])
        g = (self.share @ (R * unit).flatten(1)).unflatten(0, R.shape[1:]) if self.has_gain else None
        if self.shared:
            E = torch.addcmul(E, unit, (unit * E).mean(-1, keepdim=True), value=-1)
        V = product(E.flatten(1).mT, self.X).unflatten(0, R.shape[1:])
        if self.centered:
            V = V - V.mean(-2, keepdim=True)
        if self.U is not None:
            V = torch.addcmul(V, (E * unit).sum(0)[..., None], self.U, value=-1)
        return V, b, g

    @cached_property
    def _weighted_scale(self) -> Float[Tensor, "N H"]:
        """The scale of each case times its weight."""
        return self.scale * self.share[:, None]

    @staticmethod
    def _like(t: Tensor, R: Tensor) -> Tensor:
        """t with axes of length 1 where R has K directions."""
        return t.reshape(len(t), *[1] * (R.ndim - 2), -1)

    def printed(self) -> "Linearization":
        r"""The linearization that Eqs. (13)-(14) imply: each unit moved by its own row only.

        Equal to this one except for shared statistics, where
        $\chi_i = (1 - 1/H - \hat a_i^2/H)\,x$ keeps the diagonal of $P_n$ (no 1/H for RMSNorm).
        """
        if not self.shared:
            return self
        H = self.unit.shape[1]
        diagonal = 1 - self.unit.square() / H - (1 / H if self.centered else 0)
        return replace(self, scale=self.scale * diagonal, shared=False, centered=False)


@torch.no_grad()
def linearize(glm: GLM, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None) -> Linearization:
    r"""Linearize a GLM over the given cases.

    Where a standard deviation is 0 (a constant row under layer norm, a constant unit under batch norm, with
    eps = 0) the normalized value is 0 by definition and does not move: $\hat a = s = 0$.
    """
    share = glm.case_weights(X, weights)
    a, W, U = X @ glm.W.mT, glm.W, None
    if glm.norm is None or glm.gain is None:
        return Linearization(X, a, torch.ones_like(a), share, False, False, None, False)
    if glm.norm == "weight":
        U, rstd = _standardize(W, W.new_ones(W.shape[1]), 0.0)
        rstd = rstd.mT.expand_as(a)
        unit = a * rstd
    elif glm.norm == "batch":
        mean, _ = glm.moments(X, weights)
        unit, rstd = (t.mT for t in _standardize((a - mean).mT, share, glm.eps))
        X = X - _mean(X, share)
        U = (unit * share[:, None]).mT @ X
        rstd = rstd.expand_as(a)
    else:
        unit, rstd = standardized_rows(a, glm.norm == "layer", glm.eps)
        rstd = rstd.expand_as(a)
    shared = glm.norm in ("layer", "rms")
    return Linearization(X, unit, glm.gain * rstd, share, shared, glm.norm == "layer", U, True)


def standardized_rows(
    a: Float[Tensor, "N H"], centered: bool, eps: float
) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N 1"]]:
    r"""$\hat a$ and $1/\sigma$ of layer norm, or of RMSNorm where the rows are not centered."""
    if centered:
        a = a - a[:, :1]  # a shift changes nothing; equal values become exact zeros
        a = a - a.mean(1, keepdim=True)
    return _standardize(a, a.new_full((a.shape[1],), 1 / a.shape[1]), eps)


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


def _mean(X: Float[Tensor, "N D"], share: Float[Tensor, " N"]) -> Float[Tensor, "1 D"]:
    """The weighted mean of the features; equal values have exactly themselves."""
    origin = X[share > 0][:1]
    return origin + share @ (X - origin)
