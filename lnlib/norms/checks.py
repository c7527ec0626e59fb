"""What the normalizations refuse, and in which words: the invariant, the values, the way out."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from lnlib.norms.standardize import EPS

__all__ = [
    "check_built_for",
    "check_channels",
    "check_entries",
    "check_groups",
    "check_input",
    "check_tensor",
    "check_units",
    "is_eps",
    "parameters_for",
]


def is_eps(eps: Any) -> bool:
    """Whether it is a number that can be added to a variance: finite and not negative."""
    number = isinstance(eps, (Real, Tensor, torch.SymFloat)) and not isinstance(eps, bool)
    return number and bool(0 <= eps < math.inf)


def check_tensor(name: str, label: str, value: Any) -> None:
    """Refuse lists, arrays and numbers where a tensor is meant."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}: {label} must be a tensor, and it is of type {type(value).__name__}; "
            f"make it one, for example with torch.as_tensor"
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
            f"{name}: eps is added to a variance, so it is finite and not negative, and it is {eps!r}; "
            f"{EPS:g} is usual, 0 is the paper's"
        )


def check_units(name: str, a: Tensor, eps: float, dim: int) -> None:
    """Refuse inputs without an axis `dim`, or with nothing along it."""
    check_input(name, a, eps)
    if not _is_whole(dim):
        raise TypeError(
            f"{name}: dim counts axes, so it is an integer, and it is {dim!r}; the last axis is -1"
        )
    if not -a.ndim <= dim < a.ndim:
        raise ValueError(
            f"{name}: dim names the axis of the units, and shape {tuple(a.shape)} has no axis {dim}; "
            f"choose one of {list(range(a.ndim))}"
        )
    if a.shape[dim] == 0:
        raise ValueError(
            f"{name}: there is no mean of 0 units, and axis {dim} of shape {tuple(a.shape)} has none; "
            f"give at least one unit"
        )


def check_channels(name: str, a: Tensor, eps: float, least_axes: int = 2) -> None:
    """Refuse inputs that are not (cases, channels, *space), or that are empty in more than the cases."""
    check_input(name, a, eps)
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


def check_built_for(name: str, a: Tensor, channels: int) -> None:
    """Refuse an input whose axis 1 does not have the channels that a layer was built for."""
    check_tensor(name, "the input", a)
    if a.ndim < 2 or a.shape[1] != channels:
        raise ValueError(
            f"{name}: axis 1 holds the {channels} units, and the shape is {tuple(a.shape)}; "
            f"move them there, or build the layer for that many"
        )


def check_groups(name: str, groups: int, channels: int) -> None:
    """Refuse numbers of groups that do not divide the channels."""
    if not _is_whole(groups):
        raise TypeError(
            f"{name}: groups are counted, so it is an integer, and it is {groups!r}; 1 is layer norm"
        )
    if groups < 1 or channels % groups:
        raise ValueError(
            f"{name}: groups must divide the channels, and {groups} does not divide {channels}; "
            f"choose one of {[k for k in range(1, channels + 1) if channels % k == 0]}"
        )


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def parameters_for(
    name: str, a: Tensor, gain: Tensor | None, bias: Tensor | None, units: int
) -> tuple[Tensor | None, Tensor | None]:
    """Gain and bias in the dtype of the computation, once their shapes are known to fit."""
    if gain is None and bias is None:
        return None, None
    check_entries(name, (units,), gain=gain, bias=bias)
    dtype = torch.promote_types(a.dtype, torch.float32)
    return (None if gain is None else gain.to(dtype)), (None if bias is None else bias.to(dtype))


def check_entries(name: str, units: Sequence[int], **parameters: Tensor | None) -> None:
    """Raise unless there is one real entry per unit; one that broadcasts would be shared silently."""
    for label, p in parameters.items():
        if p is None:
            continue
        check_tensor(name, label, p)
        if p.is_complex():
            raise TypeError(
                f"{name}: {label} must be real, and it is {p.dtype}; give its real part, for example"
            )
        if p.shape != tuple(units):
            raise ValueError(
                f"{name}: {label} has one entry per unit, shape {tuple(units)}, and its shape is "
                f"{tuple(p.shape)}; reshape it or leave it out"
            )
