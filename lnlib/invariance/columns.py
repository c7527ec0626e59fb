"""The columns of Table 1 and ours, each as a transformation of a layer of given size."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.invariance.transformations import (
    Transformation,
    affine_data,
    affine_weights,
    mix_units,
    scale_cases,
    scale_rows,
    shift_cases,
    shift_rows,
    shift_summed,
)

__all__ = ["BEYOND", "COLUMNS", "PAPER", "columns", "paper_columns"]

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
