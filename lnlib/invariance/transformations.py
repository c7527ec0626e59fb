r"""The transformations of Table 1 and their neighbors, as maps of weights, data or summed inputs.

A layer receives $a_n = W x_n$. A transformation changes the weights W, the data X, or the summed inputs
themselves.

========================  =======================================
function                  acts by
========================  =======================================
:func:`affine_weights`    $W \to \delta W + 1\gamma^\top$, Eq. (6)
:func:`scale_rows`        $w_i \to \delta_i w_i$
:func:`shift_rows`        $W \to W + \gamma 1^\top$
:func:`mix_units`         $W \to QW$, Q orthogonal
:func:`affine_data`       $x_n \to \delta x_n + c$
:func:`scale_cases`       $x_n \to \delta_n x_n$, Eq. (7)
:func:`shift_cases`       $x_n \to x_n + s_n 1$
:func:`shift_summed`      $a_n \to a_n + s_n 1$
========================  =======================================

A scale of 0 erases what it scales, so it is refused. Data have shape (N, \*space, D): in a fully connected
layer there is no space.
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
    r"""Scale the whole weight matrix and shift all its rows alike: $W \to \delta W + 1\gamma^\top$.

    *Source* Eq. (6); Table 1, columns 1 ($\gamma = 0$) and 2 ($\delta = 1$).

    Args:
        scale: $\delta$, one number, not 0.
        shift: $\gamma$, one number an input; 0 where left out.

    Raises:
        ValueError: the scale is 0 or not finite.

    >>> affine_weights(2.0, torch.tensor([0.0, 1.0])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 5.],
            [6., 9.]])
    """
    _check_scales("affine_weights", torch.tensor([scale], dtype=torch.float64))
    move = 0 if shift is None else shift
    return Transformation(weights=lambda W: scale * W + move, outputs=lambda h: h if scale > 0 else -h)


def affine_data(scale: float = 1.0, shift: Float[Tensor, " D"] | None = None) -> Transformation:
    r"""Scale all the data and shift all cases alike: $x_n \to \delta x_n + c$.

    *Source* Table 1, columns 4 ($c = 0$) and 5 ($\delta = 1$).

    Args:
        scale: $\delta$, one number, not 0.
        shift: $c$, one number an input; 0 where left out.

    Raises:
        ValueError: the scale is 0 or not finite.

    >>> affine_data(shift=torch.tensor([0.0, 1.0])).data(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [3., 5.]])
    """
    _check_scales("affine_data", torch.tensor([scale], dtype=torch.float64))
    move = 0 if shift is None else shift
    return Transformation(data=lambda X: scale * X + move, outputs=lambda h: h if scale > 0 else -h)


def scale_rows(scales: Float[Tensor, " H"]) -> Transformation:
    r"""Scale each weight vector by its own factor: $w_i \to \delta_i w_i$.

    *Source* Table 1, column 3. A factor of 1 leaves a unit alone.

    Args:
        scales: $\delta_i$, one number a unit, none 0.

    Raises:
        ValueError: a scale is 0 or not finite.

    >>> scale_rows(torch.tensor([2.0, 1.0])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 4.],
            [3., 4.]])
    """
    _check_scales("scale_rows", scales)
    return Transformation(
        weights=lambda W: scales[:, None] * W,
        outputs=lambda h: h * scales.sign().view(-1, *[1] * (h.ndim - 2)),
    )


def shift_rows(shift: Float[Tensor, " H"]) -> Transformation:
    r"""Shift each weight vector by its own number, the same for all its entries: $W \to W + \gamma 1^\top$.

    *Source* ours: the other way to read "re-centering of the weights", which Eq. (6) rules out.

    Args:
        shift: $\gamma$, one number a unit.

    >>> shift_rows(torch.tensor([0.0, 1.0])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [4., 5.]])
    """
    return Transformation(weights=lambda W: W + shift[:, None])


def mix_units(Q: Float[Tensor, "H H"]) -> Transformation:
    r"""Replace the units by orthogonal mixtures of them: $W \to QW$. A permutation is a special case.

    *Source* ours. New units give new outputs, so invariance would be a defect. The question is whether the
    outputs mix the same way.

    Args:
        Q: orthogonal, units by units.

    Raises:
        ValueError: Q is not square or not orthogonal.

    >>> mix_units(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).weights(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1]:
        raise ValueError(f"mix_units: Q has shape {tuple(Q.shape)}; give it as (H, H)")
    off = (Q @ Q.T - torch.eye(len(Q), dtype=Q.dtype, device=Q.device)).abs().max()
    # An orthogonal matrix from a QR factorization is off by a few H u.
    if not off <= 100 * len(Q) * torch.finfo(Q.dtype).eps:
        raise ValueError(
            f"mix_units: Q must be orthogonal, and Q Q' differs from the identity by {off:.1e}; "
            f"take the Q of torch.linalg.qr"
        )
    return Transformation(weights=lambda W: Q @ W, outputs=lambda h: torch.einsum("ij,nj...->ni...", Q, h))


def scale_cases(scales: Float[Tensor, " N"]) -> Transformation:
    r"""Scale each training case by its own factor: $x_n \to \delta_n x_n$.

    *Source* Eq. (7); Table 1, column 6. A factor of 1 leaves a case alone.

    Args:
        scales: $\delta_n$, one number a case, none 0.

    Raises:
        ValueError: a scale is 0 or not finite; later, if there are more or fewer cases.

    >>> scale_cases(torch.tensor([1.0, 10.0])).data(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 1.,  2.],
            [30., 40.]])
    """
    _check_scales("scale_cases", scales)
    return Transformation(
        data=lambda X: X * _each_case(scales, X), outputs=lambda h: h * _each_case(scales.sign(), h)
    )


def shift_cases(shift: Float[Tensor, " N"]) -> Transformation:
    r"""Shift all features of a case by the same number: $x_n \to x_n + s_n 1$.

    *Source* the paper's conclusion, "per training-case feature shifting", read literally.

    Args:
        shift: $s_n$, one number a case.

    Raises:
        ValueError: later, if there are more or fewer cases.

    >>> shift_cases(torch.tensor([0.0, 1.0])).data(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [4., 5.]])
    """
    return Transformation(data=lambda X: X + _each_case(shift, X))


def shift_summed(shift: Float[Tensor, " N"]) -> Transformation:
    r"""Shift all summed inputs of a case by the same number: $a_n \to a_n + s_n 1$.

    *Source* the paper's conclusion, "per training-case feature shifting", as it is meant.

    Args:
        shift: $s_n$, one number a case.

    Raises:
        ValueError: later, if there are more or fewer cases.

    >>> shift_summed(torch.tensor([0.0, 1.0])).summed(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [4., 5.]])
    """
    return Transformation(summed=lambda a: a + _each_case(shift, a))


def _each_case(values: Tensor, like: Tensor) -> Tensor:
    """One number a case, shaped to multiply or to be added to `like`."""
    if len(values) != len(like):
        raise ValueError(f"there are {len(values)} numbers for {len(like)} cases; give one a case")
    return values.view(-1, *[1] * (like.ndim - 1))


def _check_scales(name: str, scales: Tensor) -> None:
    bad = scales[~scales.isfinite() | (scales == 0)]
    if len(bad):
        raise ValueError(
            f"{name}: a scale must be finite and not 0, which would erase what it scales, and it is "
            f"{bad[0]:g}; invariance is about scales above 0, for example 2.7"
        )
