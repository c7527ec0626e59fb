r"""The covariance of a case's outputs, kept in the structure it has: diagonal, or that of a softmax.

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
    r"""$C_n = \mathrm{diag}(d_n)$ of each case, or for a softmax $\mathrm{diag}(d_n) - d_nd_n^\top$, $d = p$.

    >>> C = OutputCovariance(torch.tensor([[0.25, 0.75]]), softmax=True)
    >>> C.times(torch.tensor([[1.0, 0.0]]))
    tensor([[ 0.1875, -0.1875]])
    """

    diagonal: Float[Tensor, "N H"]
    softmax: bool = False

    def times(self, R: Float[Tensor, "*K N H"]) -> Float[Tensor, "*K N H"]:
        """$C_n r_n$ for each case (and each of K vectors), in O(NHK)."""
        out = self.diagonal * R
        if not self.softmax:
            return out
        out.addcmul_(self.diagonal, out.sum(-1, keepdim=True), value=-1)
        excess = out.sum(-1, keepdim=True)  # the entries add up to 0
        return out.scatter_add_(-1, self._top.expand_as(excess), -excess)

    def dense(self) -> Float[Tensor, "N H H"]:
        """The matrices themselves."""
        if not self.softmax:
            return torch.diag_embed(self.diagonal)
        C = -self.diagonal[:, :, None] * self.diagonal[:, None, :]
        C.diagonal(dim1=1, dim2=2).copy_(self.variance())
        return C

    def variance(self) -> Float[Tensor, "N H"]:
        """The diagonals of the matrices."""
        return self.diagonal * self._complement() if self.softmax else self.diagonal

    def factor(self) -> Float[Tensor, "N H H"]:
        r"""$L_n$ with $L_n L_n^\top = C_n$; for a softmax $L = \mathrm{diag}(\sqrt p) - p\sqrt p^\top$."""
        root = self.diagonal.sqrt()
        if not self.softmax:
            return torch.diag_embed(root)
        L = -self.diagonal[:, :, None] * root[:, None, :]
        L.diagonal(dim1=1, dim2=2).copy_(root * self._complement())
        return L

    def __getitem__(self, cases: slice) -> "OutputCovariance":
        """The covariances of some of the cases."""
        return OutputCovariance(self.diagonal[cases], self.softmax)

    def _complement(self) -> Float[Tensor, "N H"]:
        """$1 - p_i$; at the likeliest class the sum of the others."""
        others = self.diagonal.scatter(-1, self._top, 0.0).sum(-1, keepdim=True)
        return (1 - self.diagonal).scatter(-1, self._top, others)

    @cached_property
    def _top(self) -> Int[Tensor, "N 1"]:
        """The likeliest class."""
        return self.diagonal.argmax(-1, keepdim=True)
