r"""Accurate standardization: $(x - \mu)/\sqrt{\sigma^2 + \epsilon}$ for any mean and any magnitude.

Two ways, which agree wherever the first may be used:

*Fast* the kernels of `torch`. They multiply out $x/\sigma - \mu/\sigma$, which loses $|\mu|/\sigma$
roundings, and square without guarding the range. But they return the $\mu$ and $1/\sigma$ they used,
and :func:`is_accurate` sees in those whether any of that happened, at a cost of one number a set.

*Robust* :func:`standardize`: scaled by an exact power of two, centred twice, in some ten passes over the
data. Taken when the first is not accurate, and wherever control flow must not depend on data: on a GPU,
under `torch.compile`, in `torch.func` transforms.

*Source* ours; the loss is the one of the one-pass variance (Chan, Golub, LeVeque 1983), met in the output.
"""

import math

import torch
from torch import Tensor

__all__ = [
    "affine",
    "in_range",
    "is_accurate",
    "may_branch",
    "over_root",
    "rescale",
    "standardize",
    "standardize_rows",
]


def standardize_rows(x: Tensor, gain: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Standardize over the last axis, then scale and shift: the fast way where it is accurate."""
    if may_branch(x):
        out, mean, rstd = torch.native_layer_norm(x, x.shape[-1:], gain, bias, eps)
        if is_accurate(mean, rstd, eps):
            return out
    return affine(standardize(x, [-1], eps), gain, bias, -1)


def standardize(x: Tensor, dims: list[int], eps: float) -> Tensor:
    """The robust way, over the axes `dims` of x; equal values give exactly 0.

    >>> standardize(torch.tensor([[1e30, 3e30], [0.1, 0.1]]), [-1], eps=0.0)
    tensor([[-1.,  1.],
            [ 0.,  0.]])
    """
    d, eps_scaled = rescale(x, dims, eps)
    # Any constant shift leaves the result alone, so no gradient passes through this one. The rounded mean,
    # moved between the extremes where the exact one is, turns equal values into exact zeros.
    fixed = d.detach()
    mean = fixed.mean(dims, keepdim=True)
    mean = torch.minimum(torch.maximum(mean, fixed.amin(dims, keepdim=True)), fixed.amax(dims, keepdim=True))
    d = d - mean
    d = d - d.mean(dims, keepdim=True)  # what the rounding of the first mean left
    return over_root(d, d.square().mean(dims, keepdim=True) + eps_scaled)


def rescale(x: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor]:
    """x and eps in units in which squares neither over- nor underflow, one unit for each set of values.

    The unit is a power of two, so that nothing is rounded, and 1 unless x needs another: the square of a
    number within 2**-reach and 2**reach is normal, and so is that of its last bit. Numbers far below
    sqrt(eps) may underflow, since eps is what their squares are added to.
    """
    reach = _reach(x.dtype)
    limit = 4 * reach - 2  # of the exponent of a number whose reciprocal is normal too
    peak = x.detach().abs().amax(dims, keepdim=True)
    _, exponent = torch.frexp(peak.clamp(min=math.sqrt(eps)))
    exponent = exponent.clamp(-limit, limit).to(x.dtype)
    scale = torch.exp2(torch.where(exponent.abs() > reach, -exponent, 0.0))
    return x * scale, (scale * math.sqrt(eps)).square()


def over_root(d: Tensor, power: Tensor) -> Tensor:
    """d / sqrt(power); where both are 0 it is 0 by definition, and passes no gradient."""
    undefined = power == 0
    return d / power.masked_fill(undefined, 1.0).sqrt().masked_fill(undefined, math.inf)


def affine(x: Tensor, gain: Tensor | None, bias: Tensor | None, dim: int) -> Tensor:
    """gain * x + bias, their entries along axis `dim` of x."""
    shape = [1] * x.ndim
    shape[dim] = -1
    if gain is not None:
        x = x * gain.view(shape)
    return x if bias is None else x + bias.view(shape)


def may_branch(x: Tensor) -> bool:
    """Whether Python may look at values: on a CPU, and outside tracing, compilation and torch.func."""
    plain = not torch.compiler.is_compiling() and type(x) in (Tensor, torch.nn.Parameter)
    return plain and x.device.type == "cpu" and not _in_transform()


def is_accurate(mean: Tensor, rstd: Tensor, eps: float) -> bool:
    """Whether a kernel's result can be kept, judged by the mean and the 1/std it used."""
    if not in_range(rstd):
        return False
    # x/std - mean/std loses |mean|/std roundings: up to 3 bits may go. NaN compares as False.
    if not float((mean * rstd).detach().abs().max() if mean.numel() else 0.0) <= 8:
        return False
    # Equal values c must give exactly 0, which the kernels do only for c = 0. By now |c| <= 8 sqrt(eps), so
    # the rounding of their mean is a variance under (1e3 u)**2 eps, and 1/std is 1/sqrt(eps) to 8 roundings.
    ceiling = (1 - 8 * torch.finfo(rstd.dtype).eps) / math.sqrt(eps) if eps > 0 else math.inf
    return not bool(((rstd >= ceiling) & (mean != 0)).any())


def in_range(rstd: Tensor) -> bool:
    """Whether squares, and the cube of 1/std in a gradient, stayed normal numbers."""
    low, high = torch.aminmax(rstd.detach()) if rstd.numel() else (1.0, 1.0)
    reach = 2.0 ** _reach(rstd.dtype)
    return 1 / reach <= float(low) and float(high) <= reach


def _reach(dtype: torch.dtype) -> int:
    """A quarter of the range of exponents: 32 in float32, 256 in float64."""
    return math.frexp(torch.finfo(dtype).max)[1] // 4


def _in_transform() -> bool:
    """Whether a torch.func transform (vmap, grad, ...) is active; said to be so where torch cannot tell."""
    level = getattr(torch._C._functorch, "maybe_current_level", lambda: 0)
    return level() is not None
