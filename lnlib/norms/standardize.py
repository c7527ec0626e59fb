r"""One way to standardize, for every norm that subtracts a mean: from the first value, then torch's kernel.

The kernels of `torch` compute mean and variance well, and then multiply out $x/\sigma - \mu/\sigma$, which
loses $|\mu|/\sigma$ roundings: all digits at a mean of a million in float32. But a shift changes no result,
so the values are first counted from one of them. Equal values become exact zeros. And no value is
farther than $\sqrt{n-1}$ standard deviations from the mean of n, so that the loss is bounded whatever the
mean, and is some roundings unless the first value is the outlier. A scale changes no result either where
`eps` is 0: there the values are counted in a power of two as large as the largest, whose squares neither
over- nor underflow. No branch depends on values, so compilers, exporters, `torch.func` and GPUs take the
same way.

*Source* ours; one pass over shifted values is in Chan, Golub, LeVeque (1983).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["EPS", "affine", "from_first", "in_range", "over_root", "widen"]

EPS = 1e-5  # what the norms add to a variance unless told otherwise: torch.nn's number; the paper prints none
UNSEEN = 2.0**-80  # beside a mean square of values of size 1


def from_first(x: Tensor, dims: Sequence[int], eps: float) -> tuple[Tensor, float]:
    """x less the first value of each set along `dims`, and the eps for it: the same (x - mean) / std.

    For an eps of 0, equal values are erased, which makes their gradient 0 too, and another eps that no
    rounding sees keeps 0 / 0 from them.
    """
    if eps == 0:
        x = in_range(x, dims)
    first = x.detach()
    for dim in dims:
        first = first.narrow(dim, 0, 1)
    return (x - first, eps) if eps > 0 else (in_range(x - first, dims), UNSEEN)


def in_range(x: Tensor, dims: Sequence[int]) -> Tensor:
    """x in a unit of each set along `dims`: the power of two next to its largest size, which rounds nothing.

    Sets of zeros are erased: multiplied by 0.
    """
    peak = x.detach().abs().amax(tuple(dims), keepdim=True)
    _, exponent = torch.frexp(peak)
    limit = math.frexp(torch.finfo(x.dtype).max)[1] - 2  # beyond it the unit or its reciprocal is no number
    unit = torch.exp2(-exponent.clamp(-limit, limit).to(x.dtype))
    return x * torch.where(peak == 0, 0.0, unit)


def over_root(d: Tensor, power: Tensor) -> Tensor:
    """d / sqrt(power); where both are 0 it is 0 by definition, and passes no gradient."""
    undefined = power == 0
    return d * power.masked_fill(undefined, 1.0).rsqrt().masked_fill(undefined, 0.0)


def affine(x: Tensor, gain: Tensor | None, bias: Tensor | None, dim: int) -> Tensor:
    """gain * x + bias, their entries along axis `dim` of x."""
    shape = [1] * x.ndim
    shape[dim] = -1
    if gain is not None and bias is not None:
        return torch.addcmul(bias.view(shape), x, gain.view(shape))
    if gain is not None:
        return x * gain.view(shape)
    return x if bias is None else x + bias.view(shape)


def widen(x: Tensor) -> Tensor:
    """x in the dtype of the computation: at least float32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
