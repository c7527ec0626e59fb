r"""The covariance of a case's outputs, kept in the structure it has: diagonal, softmax, or one matrix.

A saturated softmax has $C_{kk} = p_k(1-p_k)$ with $p_k\approx1$. Everything here takes $1-p_k$, and the k-th
entry of a product, from the sum of the others, so that the small numbers keep their digits.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["OutputCovariance"]


@dataclass(frozen=True)
class OutputCovariance:
    r"""$C_n = \mathrm{diag}(d_n) - m_n m_n^\top$ for each case, or one matrix for all cases.

    Independent outputs have no `outer`. A softmax has $d = m = p$.

    Attributes:
        diagonal: d, (N, H). outer: m, (N, H), equal to d.
        rest: $1 - \sum_i p_i$, (N,): the probability of a reference class without a logit; 0 without one.
        matrix: the same (H, H) matrix for each of the cases.
        cases: N.

    >>> C = OutputCovariance(matrix=torch.tensor([[2.0, 1.0], [1.0, 2.0]]), cases=1)
    >>> C.times(torch.tensor([[1.0, 0.0]]))
    tensor([[2., 1.]])
    """

    diagonal: Float[Tensor, "N H"] | None = None
    outer: Float[Tensor, "N H"] | None = None
    rest: Float[Tensor, " N"] | None = None
    matrix: Float[Tensor, "H H"] | None = None
    cases: int = 0

    def times(self, R: Float[Tensor, "N *K H"]) -> Float[Tensor, "N *K H"]:
        """$C_n r_n$ for each case (and each of K vectors), in O(NHK) unless it is one full matrix."""
        if self.matrix is not None:
            return R @ self.matrix
        shape = (self.cases, *[1] * (R.ndim - 2), -1)  # axes of length 1 where R has K
        d = self._diagonal().view(shape)
        out = d * R
        if self.outer is None:
            return out
        mean = out.sum(-1, keepdim=True)
        out.addcmul_(d, mean, value=-1)
        # Over all classes the entries add up to 0, and that of the reference class is -rest * mean.
        excess = torch.addcmul(out.sum(-1, keepdim=True), self._rest().view(shape), mean, value=-1)
        return out.scatter_add_(-1, self._top.view(shape).expand_as(excess), -excess)

    def dense(self) -> Float[Tensor, "N H H"]:
        """The matrices themselves."""
        if self.matrix is not None:
            return self.matrix.expand(self.cases, *self.matrix.shape)
        if self.outer is None:
            return torch.diag_embed(self._diagonal())
        C = -self.outer[:, :, None] * self.outer[:, None, :]
        C.diagonal(dim1=1, dim2=2).copy_(self.variance())
        return C

    def variance(self) -> Float[Tensor, "N H"]:
        """The diagonals of the matrices."""
        if self.matrix is not None:
            return self.matrix.diagonal().expand(self.cases, -1)
        return self._diagonal() if self.outer is None else self.outer * self._complement()

    def factor(self) -> Float[Tensor, "N H H"]:
        r"""$L_n$ with $L_n L_n^\top = C_n$.

        For a softmax $L = \mathrm{diag}(\sqrt p) - \alpha\,p\sqrt p^\top$ with
        $\alpha = 1/(1 + \sqrt{p_{ref}})$, no Cholesky of a singular matrix needed.
        """
        if self.matrix is not None:
            values, vectors = torch.linalg.eigh(self.matrix)
            return (vectors * values.clamp(min=0).sqrt()).expand(self.cases, *self.matrix.shape)
        root = self._diagonal().sqrt()
        if self.outer is None:
            return torch.diag_embed(root)
        # (1 - sqrt(1 - s)) / s = 1 / (1 + sqrt(1 - s))  with  s = sum of p,  1 - s = rest
        side = self._rest().sqrt()[:, None]
        alpha = 1 / (1 + side)
        L = -(alpha * self.outer)[:, :, None] * root[:, None, :]
        L.diagonal(dim1=1, dim2=2).copy_(root * alpha * (self._complement() + side))
        return L

    def __getitem__(self, cases: slice) -> "OutputCovariance":
        """The covariances of some of the cases."""
        diagonal, outer, rest = (
            None if t is None else t[cases] for t in (self.diagonal, self.outer, self.rest)
        )
        return OutputCovariance(diagonal, outer, rest, self.matrix, len(range(*cases.indices(self.cases))))

    def _complement(self) -> Float[Tensor, "N H"]:
        """$1 - p_i$; at the likeliest class the sum of the others."""
        p = self._diagonal()
        others = p.scatter(-1, self._top, 0.0).sum(-1, keepdim=True) + self._rest()[:, None]
        return (1 - p).scatter(-1, self._top, others)

    @cached_property
    def _top(self) -> Int[Tensor, "N 1"]:
        """The likeliest class with a logit."""
        return self._diagonal().argmax(-1, keepdim=True)

    def _diagonal(self) -> Tensor:
        assert self.diagonal is not None, "a covariance has a diagonal or a matrix"
        return self.diagonal

    def _rest(self) -> Tensor:
        assert self.rest is not None, "a softmax states what its classes leave"
        return self.rest
