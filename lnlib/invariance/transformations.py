r"""The transformations of Table 1 and their neighbors, as maps of weights, data or summed inputs.

A layer receives $a_n = W x_n$. A transformation changes the weights W (H, D), the data X (N, \*space, D; in a
fully connected layer there is no space), or the summed inputs themselves.

========================  =======================================  =======================================
function                  acts by                                  in the paper
========================  =======================================  =======================================
:func:`affine_weights`    $W \to \delta W + 1\gamma^\top$          Eq. (6); Table 1, columns 1 and 2
:func:`scale_rows`        $w_i \to \delta_i w_i$                   Table 1, column 3
:func:`shift_rows`        $W \to W + \gamma 1^\top$                (ours)
:func:`mix_units`         $W \to QW$, Q orthogonal                 (ours)
:func:`affine_data`       $x_n \to \delta x_n + c$                 Table 1, columns 4 and 5
:func:`scale_cases`       $x_n \to \delta_n x_n$                   Eq. (7); Table 1, column 6
:func:`shift_cases`       $x_n \to x_n + s_n 1$                    the conclusion, read literally
:func:`shift_summed`      $a_n \to a_n + s_n 1$                    the conclusion, as it is meant
========================  =======================================  =======================================

Scales are finite and not 0, which would erase what it scales; invariance is about scales above 0.

>>> by = affine_weights(2.0, torch.tensor([0.0, 1.0]))
>>> by.weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[2., 5.],
        [6., 9.]])
>>> scale_cases(torch.tensor([1.0, 10.0])).data(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[ 1.,  2.],
        [30., 40.]])
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = [
    "Transformation",
    "affine_data",
    "affine_weights",
    "mix_units",
    "scale_cases",
    "scale_rows",
    "shift_cases",
    "shift_rows",
    "shift_summed",
]


def _same(values: Tensor) -> Tensor:
    return values


class Transformation(NamedTuple):
    """What happens to a layer; each map that is left out is the identity.

    `weights` maps weights (H, D), `data` data, and `summed` summed inputs, for what no change of weights or
    data expresses; shapes stay. `outputs` says how normalized outputs move along where the layer is
    *equivariant*: a negative scale should flip signs and a permutation should permute.
    """

    weights: Callable[[Tensor], Tensor] = _same
    data: Callable[[Tensor], Tensor] = _same
    summed: Callable[[Tensor], Tensor] = _same
    outputs: Callable[[Tensor], Tensor] = _same


def affine_weights(scale: float = 1.0, shift: Float[Tensor, " D"] | None = None) -> Transformation:
    r"""Scale the whole matrix and shift all rows alike, $W \to \delta W + 1\gamma^\top$: Eq. (6)."""
    move = 0 if shift is None else shift
    return Transformation(weights=lambda W: scale * W + move, outputs=lambda h: h if scale > 0 else -h)


def affine_data(scale: float = 1.0, shift: Float[Tensor, " D"] | None = None) -> Transformation:
    r"""Scale all the data and shift all cases alike, $x_n \to \delta x_n + c$: Table 1, columns 4 and 5."""
    move = 0 if shift is None else shift
    return Transformation(data=lambda X: scale * X + move, outputs=lambda h: h if scale > 0 else -h)


def scale_rows(scales: Float[Tensor, " H"]) -> Transformation:
    r"""Scale each weight vector by its own factor, $w_i \to \delta_i w_i$: Table 1, column 3."""
    return Transformation(
        weights=lambda W: scales[:, None] * W,
        outputs=lambda h: h * scales.sign().view(-1, *[1] * (h.ndim - 2)),
    )


def shift_rows(shift: Float[Tensor, " H"]) -> Transformation:
    r"""Shift all entries of a weight vector by the same number, its own: $W \to W + \gamma 1^\top$.

    *Source* ours: the other way to read "re-centering of the weights", which Eq. (6) rules out.
    """
    return Transformation(weights=lambda W: W + shift[:, None])


def mix_units(Q: Float[Tensor, "H H"]) -> Transformation:
    r"""Replace the units by orthogonal mixtures of them, $W \to QW$, as by a permutation.

    *Source* ours. New units give new outputs, so invariance would be a defect. The question is whether the
    outputs mix the same way.
    """
    return Transformation(weights=lambda W: Q @ W, outputs=lambda h: torch.einsum("ij,nj...->ni...", Q, h))


def scale_cases(scales: Float[Tensor, " N"]) -> Transformation:
    r"""Scale each training case by its own factor, $x_n \to \delta_n x_n$: Eq. (7); Table 1, column 6.

    This and the next two raise ValueError, when used, unless there is one number a case.
    """
    return Transformation(
        data=lambda X: X * _each_case(scales, X), outputs=lambda h: h * _each_case(scales.sign(), h)
    )


def shift_cases(shift: Float[Tensor, " N"]) -> Transformation:
    r"""Shift all features of a case by the same number, $x_n \to x_n + s_n 1$.

    *Source* the paper's conclusion, "per training-case feature shifting", read literally.
    """
    return Transformation(data=lambda X: X + _each_case(shift, X))


def shift_summed(shift: Float[Tensor, " N"]) -> Transformation:
    r"""Shift all summed inputs of a case by the same number, $a_n \to a_n + s_n 1$.

    *Source* the paper's conclusion, "per training-case feature shifting", as it is meant.
    """
    return Transformation(summed=lambda a: a + _each_case(shift, a))


def _each_case(values: Tensor, like: Tensor) -> Tensor:
    """One number a case, shaped to multiply or to be added to `like`."""
    if len(values) != len(like):
        raise ValueError(f"there are {len(values)} numbers for {len(like)} cases; give one a case")
    return values.view(-1, *[1] * (like.ndim - 1))
