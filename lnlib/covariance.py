r"""The covariance of a case's outputs, kept in the structure it has: diagonal, softmax, or one matrix."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["OutputCovariance"]


@dataclass(frozen=True)
class OutputCovariance:
    r"""$C_n = \mathrm{diag}(d_n) - m_n m_n^\top$ for each case, or one matrix for all cases.

    Independent outputs have no `outer`. A softmax has $d = m = p$, and `rest` is the probability of a
    reference class that has no logit of its own (0 without one).

    Attributes:
        diagonal: d, (N, H); `outer`: m, (N, H); `rest`: $1 - \sum_i p_i$, (N,).
        matrix: the same (H, H) matrix for each of `cases` cases.
    """

    diagonal: Float[Tensor, "N H"] | None = None
    outer: Float[Tensor, "N H"] | None = None
    rest: Float[Tensor, " N"] | None = None
    matrix: Float[Tensor, "H H"] | None = None
    cases: int = 0

    def times(self, R: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        """$C_n r_n$ for each case, in O(NH) unless it is one full matrix."""
        if self.matrix is not None:
            return R @ self.matrix
        out = self.diagonal * R
        if self.outer is not None:
            out = out - self.outer * (self.outer * R).sum(-1, keepdim=True)
        return out

    def dense(self) -> Float[Tensor, "N H H"]:
        """The matrices themselves."""
        if self.matrix is not None:
            return self.matrix.expand(self.cases, *self.matrix.shape)
        C = torch.diag_embed(self.diagonal)
        return C if self.outer is None else C - self.outer[:, :, None] * self.outer[:, None, :]

    def factor(self) -> Float[Tensor, "N H H"]:
        r"""$L_n$ with $L_n L_n^\top = C_n$.

        For a softmax $L = \mathrm{diag}(\sqrt p) - \alpha\,p\sqrt p^\top$ with
        $\alpha = 1/(1 + \sqrt{p_{ref}})$, no Cholesky of a singular matrix needed.
        """
        if self.matrix is not None:
            return torch.linalg.cholesky(self.matrix).expand(self.cases, *self.matrix.shape)
        root = self.diagonal.sqrt()
        L = torch.diag_embed(root)
        if self.outer is None:
            return L
        # (1 - sqrt(1 - s)) / s = 1 / (1 + sqrt(1 - s))  with  s = sum of p,  1 - s = rest
        alpha = 1 / (1 + self.rest.sqrt())
        return L - alpha[:, None, None] * self.outer[:, :, None] * root[:, None, :]

    def __getitem__(self, cases: slice) -> OutputCovariance:
        """The covariances of some of the cases."""
        pick = lambda t: None if t is None else t[cases]  # noqa: E731
        count = len(range(*cases.indices(self.cases)))
        return OutputCovariance(pick(self.diagonal), pick(self.outer), pick(self.rest), self.matrix, count)
