r"""The columns of Table 1 and ours: transformations of weights, data or summed inputs.

A layer receives $a_n = W x_n$. A transformation changes the weights W (H, D), the data X (N, \*space, D; in a
fully connected layer there is no space), or the summed inputs themselves.

Scales are finite and not 0, which would erase what it scales; invariance is about scales above 0.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = [
    "BEYOND",
    "COLUMNS",
    "PAPER",
    "Transformation",
    "affine_data",
    "affine_weights",
    "columns",
    "mix_units",
    "paper_columns",
    "scale_cases",
    "scale_rows",
    "shift_cases",
    "shift_rows",
    "shift_summed",
]

#: The columns of Table 1.
COLUMNS = (
    "weight matrix re-scaling",
    "weight matrix re-centering",
    "weight vector re-scaling",
    "dataset re-scaling",
    "dataset re-centering",
    "single training case re-scaling",
)
#: Columns of ours.
BEYOND = (
    "negative weight matrix re-scaling",
    "per-row shift of the weights",
    "per-case shift of the features",
    "per-case shift of the summed inputs",
    "permutation of the units",
    "orthogonal mixing of the units",
    "orthogonal mixing that keeps the mean",
)
#: Table 1 as printed: whether the cell of a row and a column says "Invariant".
PAPER = {
    (norm, column): cell == "Invariant"
    for norm, cells in {
        "batch": ("Invariant", "No", "Invariant", "Invariant", "Invariant", "No"),
        "weight": ("Invariant", "No", "Invariant", "No", "No", "No"),
        "layer": ("Invariant", "Invariant", "No", "Invariant", "No", "Invariant"),
    }.items()
    for column, cell in zip(COLUMNS, cells, strict=True)
}


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


def columns(
    delta: float, draw: Callable[..., Tensor], units: int, inputs: int, cases: int
) -> dict[str, Transformation]:
    """A transformation for every column, those of Table 1 first, then ours, of H units, D inputs, N cases.

    `delta` is the scale; one weight vector and one case are scaled in columns 3 and 6. `draw`, called with
    sizes, returns random numbers: the shifts.

    >>> by = columns(2.0, torch.ones, units=3, inputs=2, cases=4)["single training case re-scaling"]
    >>> by.data(torch.ones(4, 2))[:, 0]
    tensor([2., 1., 1., 1.])
    """
    eye = torch.eye(units, dtype=draw(1).dtype)
    v = draw(units)
    sizes = [delta if name.endswith("re-scaling") else 1.0 for name in COLUMNS]
    paper = paper_columns(sizes, draw(inputs), draw(inputs), units, cases)
    beyond = (
        affine_weights(-abs(delta)),
        shift_rows(draw(units)),
        shift_cases(draw(cases)),
        shift_summed(draw(cases)),
        mix_units(eye.roll(1, 0)),
        mix_units(_reflection(v)),
        mix_units(_reflection(v - v.mean())),
    )
    return paper | dict(zip(BEYOND, beyond, strict=True))


def paper_columns(
    sizes: Sequence[float],
    weight_shift: Float[Tensor, " D"],
    data_shift: Float[Tensor, " D"],
    units: int,
    cases: int,
) -> dict[str, Transformation]:
    """The columns of Table 1, each of a size of its own: a scale, or what its shift is multiplied by.

    The shifts are added to every weight vector, and to every case.

    >>> shift = torch.ones(2)
    >>> by = paper_columns([1, 5, 1, 1, 1, 3], shift, shift, units=3, cases=4)["weight matrix re-centering"]
    >>> by.weights(torch.zeros(1, 2))
    tensor([[5., 5.]])
    """
    matrix, center, vector, data, origin, case = sizes
    first_unit, first_case = (torch.ones(n, dtype=weight_shift.dtype) for n in (units, cases))
    first_unit[:1], first_case[:1] = vector, case
    named = (
        affine_weights(matrix),
        affine_weights(shift=center * weight_shift),
        scale_rows(first_unit),
        affine_data(data),
        affine_data(shift=origin * data_shift),
        scale_cases(first_case),
    )
    return dict(zip(COLUMNS, named, strict=True))


def _reflection(v: Float[Tensor, " H"]) -> Float[Tensor, "H H"]:
    """I - 2 v v' / v'v, or the identity for v = 0."""
    eye = torch.eye(len(v), dtype=v.dtype)
    return eye if not v.any() else eye - 2 * torch.outer(v, v) / (v @ v)
