r"""The transformations of Table 1 and their neighbors, as group elements that act on a layer.

A layer receives $a_n = W x_n$. A transformation changes the weights W, the data X, or the summed inputs
themselves, and is one element of a group: `T2 @ T1` is "first T1, then T2", `T.inverse()` takes it back.

======================  ==========================================  ===========================
class                   acts by                                     group
======================  ==========================================  ===========================
:class:`AffineWeights`  $W \to \delta W + 1\gamma^\top$, Eq. (6)      $\mathbb R^* \ltimes \mathbb R^D$
:class:`ScaleRows`      $w_i \to \delta_i w_i$                      $(\mathbb R^*)^H$
:class:`ShiftRows`      $W \to W + \gamma 1^\top$                   $\mathbb R^H$
:class:`MixUnits`       $W \to QW$, Q orthogonal                    $O(H)$
:class:`AffineData`     $x_n \to \delta x_n + c$                    $\mathbb R^* \ltimes \mathbb R^D$
:class:`ScaleCases`     $x_n \to \delta_n x_n$, Eq. (7)             $(\mathbb R^*)^N$
:class:`ShiftCases`     $x_n \to x_n + s_n 1$                       $\mathbb R^N$
:class:`ShiftSummed`    $a_n \to a_n + s_n 1$                       $\mathbb R^N$
======================  ==========================================  ===========================

$\mathbb R^*$ are the numbers without 0: no inverse takes back a scale of 0, so it is refused.

Data have shape (N, \*space, D): in a fully connected layer there is no space.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.invariance.groups import Affine, Scales, Shifts, Transformation, check_kind, each_case

__all__ = [
    "AffineData",
    "AffineWeights",
    "MixUnits",
    "ScaleCases",
    "ScaleRows",
    "ShiftCases",
    "ShiftRows",
    "ShiftSummed",
]


class AffineWeights(Affine):
    r"""Scale the whole weight matrix and shift all its rows alike: $W \to \delta W + 1\gamma^\top$.

    *Source* Eq. (6); Table 1, columns 1 ($\gamma = 0$) and 2 ($\delta = 1$).

    Args:
        scale: $\delta$, one number, not 0.
        shift: $\gamma$, one number an input; 0 where left out.

    Raises:
        ValueError: the scale is 0 or not finite.

    >>> AffineWeights(2.0, torch.tensor([0.0, 1.0])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 5.],
            [6., 9.]])
    """

    def weights(self, W: Float[Tensor, "H D"]) -> Float[Tensor, "H D"]:
        return self._apply(W)


class AffineData(Affine):
    r"""Scale all the data and shift all cases alike: $x_n \to \delta x_n + c$.

    *Source* Table 1, columns 4 ($c = 0$) and 5 ($\delta = 1$).

    Args:
        scale: $\delta$, one number, not 0.
        shift: $c$, one number an input; 0 where left out.

    Raises:
        ValueError: the scale is 0 or not finite.

    >>> AffineData(shift=torch.tensor([0.0, 1.0])).data(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [3., 5.]])
    """

    def data(self, X: Float[Tensor, "N *space D"]) -> Float[Tensor, "N *space D"]:
        return self._apply(X)


class ScaleRows(Scales):
    r"""Scale each weight vector by its own factor: $w_i \to \delta_i w_i$.

    *Source* Table 1, column 3. A factor of 1 leaves a unit alone.

    Args:
        scales: $\delta_i$, one number a unit, none 0.

    Raises:
        ValueError: a scale is 0 or not finite.

    >>> ScaleRows(torch.tensor([2.0, 1.0])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 4.],
            [3., 4.]])
    """

    def weights(self, W: Float[Tensor, "H D"]) -> Float[Tensor, "H D"]:
        return self.scales[:, None] * W

    def outputs(self, h: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        return h * self.scales.sign().view(-1, *[1] * (h.ndim - 2))


class ScaleCases(Scales):
    r"""Scale each training case by its own factor: $x_n \to \delta_n x_n$.

    *Source* Eq. (7); Table 1, column 6. A factor of 1 leaves a case alone.

    Args:
        scales: $\delta_n$, one number a case, none 0.

    Raises:
        ValueError: a scale is 0 or not finite.

    >>> ScaleCases(torch.tensor([1.0, 10.0])).data(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 1.,  2.],
            [30., 40.]])
    """

    def data(self, X: Float[Tensor, "N *space D"]) -> Float[Tensor, "N *space D"]:
        return X * each_case(self.scales, X)

    def outputs(self, h: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        return h * each_case(self.scales.sign(), h)


class ShiftRows(Shifts):
    r"""Shift each weight vector by its own number, the same for all its entries: $W \to W + \gamma 1^\top$.

    *Source* ours: the other way to read "re-centering of the weights", which Eq. (6) rules out.

    Args:
        shift: $\gamma$, one number a unit.

    >>> ShiftRows(torch.tensor([0.0, 1.0])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [4., 5.]])
    """

    def weights(self, W: Float[Tensor, "H D"]) -> Float[Tensor, "H D"]:
        return W + self.shift[:, None]


@dataclass(frozen=True, eq=False)
class MixUnits(Transformation):
    r"""Replace the units by orthogonal mixtures of them: $W \to QW$. A permutation is a special case.

    *Source* ours. New units give new outputs, so invariance would be a defect. The question is whether the
    outputs mix the same way.

    Args:
        Q: orthogonal, units by units.

    Raises:
        ValueError: Q is not square or not orthogonal.

    >>> MixUnits(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """

    Q: Float[Tensor, "H H"]

    def __post_init__(self) -> None:
        if self.Q.ndim != 2 or self.Q.shape[0] != self.Q.shape[1]:
            raise ValueError(f"MixUnits: Q has shape {tuple(self.Q.shape)}; give it as (H, H)")
        eye = torch.eye(len(self.Q), dtype=self.Q.dtype, device=self.Q.device)
        off = (self.Q @ self.Q.T - eye).abs().max()
        # An orthogonal matrix from a QR factorization is off by a few H u.
        if not off <= 100 * len(self.Q) * torch.finfo(self.Q.dtype).eps:
            raise ValueError(
                f"MixUnits: Q must be orthogonal, and Q Q' differs from the identity by {off:.1e}; "
                f"take the Q of torch.linalg.qr"
            )

    def weights(self, W: Float[Tensor, "H D"]) -> Float[Tensor, "H D"]:
        return self.Q @ W

    def outputs(self, h: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        return torch.einsum("ij,nj...->ni...", self.Q, h)

    def inverse(self) -> "MixUnits":
        return type(self)(self.Q.T)

    def __matmul__(self, first: "MixUnits") -> "MixUnits":
        check_kind(self, first)
        return type(self)(self.Q @ first.Q)


class ShiftCases(Shifts):
    r"""Shift all features of a case by the same number: $x_n \to x_n + s_n 1$.

    *Source* the paper's conclusion, "per training-case feature shifting", read literally.

    Args:
        shift: $s_n$, one number a case.

    >>> ShiftCases(torch.tensor([0.0, 1.0])).data(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [4., 5.]])
    """

    def data(self, X: Float[Tensor, "N *space D"]) -> Float[Tensor, "N *space D"]:
        return X + each_case(self.shift, X)


class ShiftSummed(Shifts):
    r"""Shift all summed inputs of a case by the same number: $a_n \to a_n + s_n 1$.

    *Source* the paper's conclusion, "per training-case feature shifting", as it is meant.

    Args:
        shift: $s_n$, one number a case.

    >>> ShiftSummed(torch.tensor([0.0, 1.0])).summed(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [4., 5.]])
    """

    def summed(self, a: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        return a + each_case(self.shift, a)
