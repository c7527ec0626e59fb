"""What the normalizations refuse, and in which words: the invariant, the values, the way out."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor


def is_eps(eps: Any) -> bool:
    """Whether it is a number that can be added to a variance: finite and not negative; no tensor."""
    number = isinstance(eps, (Real, torch.SymFloat)) and not isinstance(eps, bool)
    return number and bool(0 <= eps < math.inf)


def check_tensor(name: str, label: str, value: Any) -> None:
    """Refuse lists, arrays and numbers where a tensor is meant."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}: {label} must be a tensor, and it is of type {type(value).__name__}; make it one, for "
            f"example with torch.as_tensor, or let torch.fx take the layer as a leaf"
        )


def check_input(name: str, a: Tensor, eps: float) -> None:
    """Refuse inputs without fractions, or of 8 bits, and an eps that cannot be added to a variance."""
    check_tensor(name, "the input", a)
    if not a.is_floating_point() or a.dtype.itemsize < 2:
        raise TypeError(
            f"{name}: means and standard deviations need floating point of 16 bits or more, and the input is "
            f"{a.dtype}; convert it, for example with .to(torch.float32)"
        )
    if not is_eps(eps):
        raise ValueError(
            f"{name}: eps is a number added to a variance, finite and not negative, and it is {eps!r}; "
            f"1e-5 is usual, 0 is the paper's"
        )


def check_axes(name: str, a: Tensor, dims: Sequence[int]) -> None:
    """Refuse axes of the units that are not there, are named twice, or are empty."""
    there = all(-a.ndim <= dim < a.ndim for dim in dims)
    if not (dims and there and len({dim % a.ndim for dim in dims}) == len(dims)):
        raise ValueError(
            f"{name}: dim names each axis of the units once, out of {list(range(a.ndim))} for shape "
            f"{tuple(a.shape)}, and it is {', '.join(map(str, dims))}"
        )
    if any(a.shape[dim] == 0 for dim in dims):
        raise ValueError(
            f"{name}: there is no mean of 0 units, and the shape is {tuple(a.shape)}; give at least one unit"
        )


def check_channels(name: str, a: Tensor, least_axes: int = 2) -> None:
    """Refuse inputs that are not (cases, channels, *space), or that are empty in more than the cases."""
    if a.ndim < least_axes:
        raise ValueError(
            f"{name}: needs {least_axes} axes or more, cases first, and the shape is {tuple(a.shape)}; "
            f"add the missing axes with unsqueeze"
        )
    if 0 in a.shape[1:]:
        raise ValueError(
            f"{name}: there is no mean of 0 values, and the shape is {tuple(a.shape)}; "
            f"only the first axis, the cases, may be empty"
        )


def check_built_for(name: str, a: Tensor, sizes: Sequence[int], dims: Sequence[int]) -> None:
    """Refuse an input whose axes `dims` do not have the sizes that a layer was built for."""
    check_tensor(name, "the input", a)
    least = max(dim + 1 if dim >= 0 else -dim for dim in dims)
    if a.ndim < least or any(a.shape[dim] != size for dim, size in zip(dims, sizes, strict=True)):
        raise ValueError(
            f"{name}: was built for {tuple(sizes)} units along {tuple(dims)}, and the input's shape is "
            f"{tuple(a.shape)}; move them there, or build the layer for that many"
        )


def parameters_for(
    name: str, a: Tensor, sizes: Sequence[int], *parameters: Tensor | None
) -> tuple[Tensor | None, ...]:
    """The parameters in the dtype of `a`; one that broadcasts would be shared silently."""
    for p in parameters:
        if p is not None and (not isinstance(p, Tensor) or p.shape != tuple(sizes)):
            raise ValueError(
                f"{name}: a parameter is a tensor with one entry per unit, shape {tuple(sizes)}, and it is "
                f"{tuple(p.shape) if isinstance(p, Tensor) else p!r}; reshape it or leave it out"
            )
    return tuple(None if p is None else p.to(a.dtype) for p in parameters)
