r"""Accurate standardization: $(x - \mu)/\sqrt{\sigma^2 + \epsilon}$ for any mean and any magnitude.

Two ways, which agree wherever the first may be used:

*Fast* the kernels of `torch`. They multiply out $x/\sigma - \mu/\sigma$, which loses $|\mu|/\sigma$
roundings, and square without guarding the range. But they return the $\mu$ and $1/\sigma$ they used,
and :func:`is_accurate` sees in those whether any of that happened, at a cost of one number a set.

*Robust* :func:`standardize`: scaled by an exact power of two, centred twice, in some ten passes over the
data. Taken when the first is not accurate, and wherever control flow must not depend on data: on a GPU,
under `torch.compile`, in `torch.func` transforms.

*Source* ours; the variance corrected by a second centring is Chan, Golub, LeVeque (1983).
"""

import math

import torch
from torch import Tensor

__all__ = [
    "EPS",
    "accurate_sets",
    "affine",
    "is_accurate",
    "laid_out_as",
    "may_branch",
    "over_root",
    "rescale",
    "standardize",
    "standardize_rows",
    "widen",
]

EPS = 1e-5  # what the norms add to a variance unless told otherwise: torch.nn's number; the paper prints none


def standardize_rows(a: Tensor, gain: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Standardize over the last axis, then scale and shift: the fast way where it is accurate.

    Gain and bias come widened; the result has their dtype or that of `a`.
    """
    if may_branch(a):
        x, weight = _kernel_operands(a, gain, bias)
        out, mean, rstd = torch.native_layer_norm(x, a.shape[-1:], weight, bias, eps)
        if is_accurate(rstd, eps, mean):
            return out
        x = widen(a)
        x = x - inner_mean(x, [-1])
        out, mean, rstd = torch.native_layer_norm(x, a.shape[-1:], gain, bias, eps)
        if is_accurate(rstd, eps, mean):
            return out
    if torch.onnx.is_in_onnx_export():  # ONNX has one operation for it
        return torch.layer_norm(widen(a), a.shape[-1:], gain, bias, eps)
    return affine(standardize(widen(a), [-1], eps), gain, bias, -1)


def standardize(x: Tensor, dims: list[int], eps: float) -> Tensor:
    """The robust way, over the axes `dims` of x; equal values give exactly 0.

    >>> standardize(torch.tensor([[1e30, 3e30], [0.1, 0.1]]), [-1], eps=0.0)
    tensor([[-1.,  1.],
            [ 0.,  0.]])
    """
    d, eps_scaled = rescale(x, dims, eps)
    d = d - inner_mean(d, dims)
    d = d - d.mean(dims, keepdim=True)  # what the rounding of the first mean left
    return over_root(d, d.square().mean(dims, keepdim=True) + eps_scaled)


def inner_mean(x: Tensor, dims: list[int]) -> Tensor:
    """The rounded mean, moved between the extremes where the exact one is: equal values have themselves.

    Without gradient: what is taken off before the exact centring changes no result.
    """
    x = x.detach()
    low, high = x.amin(dims, keepdim=True), x.amax(dims, keepdim=True)
    return x.mean(dims, keepdim=True).maximum(low).minimum(high)


def rescale(x: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor]:
    """x and eps in units in which squares neither over- nor underflow, one unit for each set of values.

    The unit is a power of two, so that nothing is rounded, and 1 unless x needs another: the square of a
    number within 2**-reach and 2**reach is normal, and so is that of its last bit. Numbers far below
    sqrt(eps) may underflow, since eps is what their squares are added to.
    """
    if torch.onnx.is_in_onnx_export():  # ONNX has no frexp
        return x, x.new_tensor(eps)
    reach = _reach(x.dtype)
    limit = 4 * reach - 2  # of the exponent of a number whose reciprocal is normal too
    peak = x.detach().amax(dims, keepdim=True).maximum(-x.detach().amin(dims, keepdim=True))
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
    if gain is not None and bias is not None:
        return torch.addcmul(bias.view(shape), x, gain.view(shape))
    if gain is not None:
        return x * gain.view(shape)
    return x if bias is None else x + bias.view(shape)


def laid_out_as(a: Tensor, out: Tensor) -> Tensor:
    """out with the channels last in memory if a has them there, as torch's own norms leave them."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or _in_transform():
        return out  # where layouts are not known, or chosen by others
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(a.ndim, torch.contiguous_format)
    return (
        out
        if a.is_contiguous() or not a.is_contiguous(memory_format=layout)
        else out.contiguous(memory_format=layout)
    )


def widen(x: Tensor) -> Tensor:
    """x in the dtype of the computation: at least float32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def may_branch(x: Tensor) -> bool:
    """Whether Python may look at values: on a CPU, and outside compilation, tracing and torch.func."""
    seen = torch.compiler.is_compiling() or torch.jit.is_tracing()
    plain = not seen and type(x) in (Tensor, torch.nn.Parameter)
    return plain and x.device.type == "cpu" and not _in_transform()


def is_accurate(rstd: Tensor, eps: float, mean: Tensor | None = None) -> bool:
    """Whether a kernel's result can be kept, judged by the 1/std it used, and the mean if it took one off."""
    if rstd.numel() == 0:
        return True
    rstd = rstd.detach()
    low, high = map(float, torch.aminmax(rstd))
    reach = 2.0 ** _reach(rstd.dtype)
    # Beyond it squares, or the cube of 1/std in a gradient, need not be normal numbers.
    if not (1 / reach <= low and high <= reach):
        return False
    if mean is None:
        return True
    # The kernels' x/std - mean/std loses |mean|/std roundings: up to 3 bits may go. This std is the data's
    # own, sqrt(1/rstd**2 - eps), taken a few roundings too small: equal values pass only where they are 0,
    # the only ones whose results the kernels make exactly 0. NaN compares as False.
    own, tilt = 1 - 8 * torch.finfo(rstd.dtype).eps, torch.linalg.vector_norm(mean.detach() * rstd, math.inf)
    if float(tilt) <= 8 * math.sqrt(max(own - eps * high * high, 0.0)):
        return True
    return bool(accurate_sets(rstd, eps, mean).all())


def accurate_sets(rstd: Tensor, eps: float, mean: Tensor) -> Tensor:
    """`is_accurate` of each set of values by itself: True where the kernel's result can be kept."""
    rstd, reach = rstd.detach(), 2.0 ** _reach(rstd.dtype)
    own, tilt = 1 - 8 * torch.finfo(rstd.dtype).eps, (mean.detach() * rstd).abs()
    within = (rstd >= 1 / reach) & (rstd <= reach)
    return within & (tilt <= 8 * (own - eps * rstd.square()).clamp(min=0.0).sqrt())


def _kernel_operands(a: Tensor, gain: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Input and gain with which torch's kernel computes in float32 at least, also for half precision.

    With a wide gain it does so forward. Backward it sums the gradients of gain and bias in half precision
    all the same (6 to 9 % off after 4,096 rows of bfloat16), so for training the input is widened too.
    """
    wanted = [t for t in (a, gain, bias) if t is not None and t.requires_grad]
    if torch.is_grad_enabled() and wanted:
        return widen(a), gain
    half = a.dtype.itemsize < 4
    return a, a.new_ones(a.shape[-1], dtype=torch.float32) if half and gain is None else gain


def _reach(dtype: torch.dtype) -> int:
    """A quarter of the range of exponents: 32 in float32, 256 in float64."""
    return math.frexp(torch.finfo(dtype).max)[1] // 4


def _in_transform() -> bool:
    """Whether torch.func (vmap, grad, ...) or a tracer sees each operation; yes where torch cannot tell."""
    level = getattr(torch._C._functorch, "maybe_current_level", lambda: 0)
    modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
    return level() is not None or modes() > 0
