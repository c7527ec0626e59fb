r"""The normalizations of Sections 2-3 and RMS norm, as functions of tensors.

Every one of them, as those of :mod:`lnlib.norms.channel_norms`, is Eq. (5) with its own rule for which
numbers share a mean and a standard deviation: $\bar a = \frac{g}{\sigma}(a - \mu) + b$.

=====================  =======================================================  ==========
function               one mean and one standard deviation for                  paper
=====================  =======================================================  ==========
:func:`batch_norm`     each unit, over the cases                                Eq. (2)
:func:`layer_norm`     each case, over the units                                Eq. (3)
:func:`weight_norm`    each row of W: no mean, the Euclidean norm               Eq. (5)
:func:`rms_norm`       each case: no mean, the root mean square                 (later)
=====================  =======================================================  ==========

*Conventions* shared by all: the variance divides by the number of values (biased) unless a function
says otherwise; `eps` is added to it under the root; float16 and bfloat16 are computed in float32; the
result has the dtype of its input, which is never modified, also under autocast: the rule of
`torch.nn.functional.layer_norm` under the CPU's autocast (under a GPU's, torch's result is float32). Values
that are all equal normalize to exactly 0, also at `eps = 0`, where their gradient is defined as 0. NaN or
infinity stays in the set of values it belongs to.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from lnlib.norms.checks import check_channels, check_entries, check_units, parameters_for
from lnlib.norms.standardize import (
    EPS,
    accurate_sets,
    affine,
    is_accurate,
    may_branch,
    over_root,
    rescale,
    standardize,
    standardize_rows,
    widen,
)

__all__ = [
    "batch_norm",
    "batch_norm_by",
    "layer_norm",
    "rms_norm",
    "weight_norm",
]


def batch_norm(
    a: Float[Tensor, "N H *space"],
    gain: Float[Tensor, " H"] | None = None,
    bias: Float[Tensor, " H"] | None = None,
    eps: float = EPS,
    unbiased: bool = False,
) -> Float[Tensor, "N H *space"]:
    r"""Normalize each unit over the cases of the batch.

    $\bar a_i = g_i\,(a_i - \mu_i)/\sqrt{\sigma_i^2 + \epsilon} + b_i$ with
    $\mu_i = E[a_i]$, $\sigma_i^2 = E[(a_i - \mu_i)^2]$, expectations over the batch.

    *Source* Eq. (2), its expectation over the data estimated from the batch.

    Args:
        a: summed inputs, cases by units; axes after the unit axis (space, time) count as further cases.
        gain, bias: one number a unit; 1 and 0 where left out.
        eps: added to the variance.
        unbiased: divide the squares by (cases - 1) instead of the cases.

    Returns:
        The normalized summed inputs, shaped like `a`; empty for no cases.

    Raises:
        TypeError: `a` is not floating point, or a parameter not a real tensor.
        ValueError: no units, one case with `unbiased`, wrong shape of `gain` or `bias`, negative `eps`.

    >>> batch_norm(torch.tensor([[1.0, 0.0], [3.0, 8.0]]), eps=0.0)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    """
    return batch_norm_moments(a, gain, bias, eps, unbiased, wanted=False)[0]


def batch_norm_moments(
    a: Float[Tensor, "N H *space"],
    gain: Float[Tensor, " H"] | None = None,
    bias: Float[Tensor, " H"] | None = None,
    eps: float = EPS,
    unbiased: bool = False,
    wanted: bool = True,
) -> tuple[Float[Tensor, "N H *space"], Float[Tensor, " H"], Float[Tensor, " H"]]:
    """:func:`batch_norm`, and each unit's mean and unbiased variance, without gradient: for running averages.

    `wanted`: compute them; otherwise, and for no cases, both are 0.
    """
    check_channels("batch_norm", a, eps)
    x = widen(a)
    gain, bias = parameters_for("batch_norm", x, gain, bias, x.shape[1])
    mean_of, var_of = torch.zeros(2, x.shape[1], dtype=x.dtype, device=x.device)
    if x.shape[0] == 0:
        return affine(x, gain, bias, 1).to(a.dtype), mean_of, var_of
    cases = x.numel() // x.shape[1]
    if unbiased:
        if cases < 2:
            raise ValueError(
                f"batch_norm: the unbiased variance divides by cases - 1, and there is {cases} case in "
                f"shape {tuple(a.shape)}; give at least 2 cases or unbiased=False"
            )
        # g d / sqrt(c var + eps) = (g / sqrt(c)) d / sqrt(var + eps / c)  with  c = n / (n - 1)
        shrink = (cases - 1) / cases
        eps = eps * shrink
        gain = math.sqrt(shrink) * (x.new_ones(x.shape[1]) if gain is None else gain)
    if may_branch(x):
        # The kernel adds up in double precision along space, and case after case in x's own precision where
        # units lie side by side: past some thousand cases those are made space, in a copy.
        apart = cases > 2**13 and not (x[0, 0].numel() > 1 and x.is_contiguous())
        rows = x.transpose(0, 1).reshape(1, x.shape[1], cases) if apart else x
        running = (mean_of, var_of) if wanted else (None, None)  # moved all the way: momentum 1
        out, mean, rstd = torch.native_batch_norm(rows, gain, bias, running[0], running[1], True, 1.0, eps)
        if is_accurate(rstd, eps, mean):
            out = out.reshape(x.transpose(0, 1).shape).transpose(0, 1) if apart else out
            return out.to(a.dtype), mean_of, var_of
        fine = accurate_sets(rstd, eps, mean)
        if eps and not apart and x.ndim == 2 and fine.any():
            out = _robust_where(~fine, x, gain, bias, eps)
            return out.to(a.dtype), mean_of, var_of
    others = [axis for axis in range(x.ndim) if axis != 1]
    if wanted and not may_branch(x):  # else the kernel has told them
        var_of, mean_of = torch.var_mean(x.detach(), others)
    return affine(standardize(x, others, eps), gain, bias, 1).to(a.dtype), mean_of, var_of


def _robust_where(
    units: Bool[Tensor, " H"],
    x: Float[Tensor, "N H"],
    gain: Float[Tensor, " H"] | None,
    bias: Float[Tensor, " H"] | None,
    eps: float,
) -> Float[Tensor, "N H"]:
    """:func:`batch_norm`, the robust way for these units only, and the kernel's for the others."""
    which = units.nonzero().flatten()
    some_gain, some_bias = (None if p is None else p.index_select(0, which) for p in (gain, bias))
    robust = affine(standardize(x.index_select(1, which), [0], eps), some_gain, some_bias, 1)
    others = x.index_fill(1, which, 0.0)
    out, *_ = torch.native_batch_norm(others, gain, bias, None, None, True, 0.0, eps)
    return out.index_copy(1, which, robust)


def batch_norm_by(
    a: Float[Tensor, "N H *space"],
    mean: Float[Tensor, " H"],
    var: Float[Tensor, " H"],
    gain: Float[Tensor, " H"] | None = None,
    bias: Float[Tensor, " H"] | None = None,
    eps: float = EPS,
) -> Float[Tensor, "N H *space"]:
    r"""Batch normalization by given statistics, which no case of the batch influences.

    $\bar a_i = g_i\,(a_i - \mu_i)/\sqrt{\sigma_i^2 + \epsilon} + b_i$.

    *Source* Eq. (2) with estimates of its expectations over the data, as in evaluation.

    Args:
        a: summed inputs, cases by units; further axes count as cases.
        mean, var: $\mu$ and $\sigma^2$ of each unit.
        gain, bias: one number a unit; 1 and 0 where left out.
        eps: added to the variance.

    Returns:
        The normalized summed inputs, shaped like `a`. With `var` and `eps` 0, the mean itself gives the bias.

    Raises:
        TypeError: `a` is not floating point, or a parameter not a real tensor.
        ValueError: no units, wrong shape of `mean`, `var`, `gain` or `bias`, negative `eps`.

    >>> batch_norm_by(torch.tensor([[5.0]]), mean=torch.tensor([1.0]), var=torch.tensor([4.0]), eps=0.0)
    tensor([[2.]])
    """
    check_channels("batch_norm_by", a, eps)
    gain, bias = parameters_for("batch_norm_by", a, gain, bias, a.shape[1])
    check_entries("batch_norm_by", a.shape[1:2], mean=mean, var=var)
    x, column = widen(a), (-1, *[1] * (a.ndim - 2))
    d, std = x - mean.to(x.dtype).view(column), (var.to(x.dtype) + eps).sqrt().view(column)
    std = std.masked_fill(std == math.inf, math.nan)  # beyond the range: unknown, and no reason for zeros
    if eps == 0:  # 0 / 0 is 0 by definition
        std = torch.where((d == 0) & (std == 0), math.inf, std)
    return affine(d / std, gain, bias, 1).to(a.dtype)


def layer_norm(
    a: Float[Tensor, "..."],
    gain: Float[Tensor, "*H"] | None = None,
    bias: Float[Tensor, "*H"] | None = None,
    eps: float = EPS,
    dim: int | Sequence[int] = -1,
) -> Float[Tensor, "..."]:
    r"""Normalize each case over the units of its layer.

    $\bar a_i = g_i\,(a_i - \mu)/\sqrt{\sigma^2 + \epsilon} + b_i$ with
    $\mu = \frac1H \sum_i a_i$, $\sigma^2 = \frac1H \sum_i (a_i - \mu)^2$.

    *Source* Eq. (3) with Eq. (5); Eqs. (15)-(16) of the supplement.

    Args:
        a: summed inputs; the H units along axis `dim`, every other axis counts cases.
        gain, bias: one number a unit; 1 and 0 where left out.
        eps: added to the variance. The paper prints none.
        dim: the axis of the units, counted from either end; several count as one, and gain and bias have
            them in this order.

    Returns:
        The normalized summed inputs, shaped like `a`; empty for no cases.

    Raises:
        TypeError: `a` is not floating point, or a parameter not a real tensor.
        ValueError: no units, no axis `dim` or one twice, wrong shape of `gain` or `bias`, negative `eps`.

    >>> layer_norm(torch.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]), bias=torch.tensor([0.0, 0.5, 1.0]))
    tensor([[-1.2247,  0.5000,  2.2247],
            [ 0.0000,  0.5000,  1.0000]])
    """
    if isinstance(dim, Sequence):
        return _over_axes(a, gain, bias, eps, tuple(dim))
    check_units("layer_norm", a, eps, dim)
    gain, bias = parameters_for("layer_norm", a, gain, bias, a.shape[dim])
    return standardize_rows(a.movedim(dim, -1), gain, bias, eps).to(a.dtype).movedim(-1, dim)


def _over_axes(
    a: Tensor, gain: Tensor | None, bias: Tensor | None, eps: float, dims: tuple[int, ...]
) -> Tensor:
    """:func:`layer_norm` over several axes: they are moved to the end, and one there is made of them."""
    for dim in dims:
        check_units("layer_norm", a, eps, dim)
    if not dims or len({dim % a.ndim for dim in dims}) < len(dims):
        raise ValueError(f"layer_norm: dim names each axis of the units once, and it is {dims}")
    sizes, ends = [a.shape[dim] for dim in dims], tuple(range(-len(dims), 0))
    check_entries("layer_norm", sizes, gain=gain, bias=bias)
    moved = a.movedim(dims, ends)
    gain, bias = (None if p is None else p.flatten() for p in (gain, bias))
    rows = layer_norm(moved.flatten(ends[0]), gain, bias, eps)
    return rows.reshape(moved.shape).movedim(ends, dims)


def weight_norm(
    W: Float[Tensor, "H D *kernel"], gain: Float[Tensor, " H"] | None = None
) -> Float[Tensor, "H D *kernel"]:
    r"""Give each row of a weight matrix the length that its gain says.

    $\bar w_i = g_i\, w_i / \lVert w_i \rVert_2$: Eq. (5) with $\mu_i = 0$, $\sigma_i = \lVert w_i \rVert_2$.

    *Source* Section 5.1, after Salimans and Kingma (2016).

    Args:
        W: weights, units by inputs; further axes (convolution kernels) count as inputs.
        gain: the length of each row; 1 where left out.

    Returns:
        The re-scaled weights, shaped like `W`. A zero row has no direction: it stays zero, gets zero
        gradient, and leaves the other rows alone.

    Raises:
        TypeError: `W` is not floating point, or `gain` not a real tensor.
        ValueError: no units or no inputs, wrong shape of `gain`.

    >>> weight_norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), gain=torch.tensor([10.0, 1.0]))
    tensor([[6., 8.],
            [0., 0.]])
    """
    check_channels("weight_norm", W, 0.0)
    gain, _ = parameters_for("weight_norm", W, gain, None, W.shape[0])
    d, _ = rescale(widen(W).flatten(1), [1], 0.0)
    out = over_root(d, d.square().sum(1, keepdim=True))
    return affine(out, gain, None, 0).reshape(W.shape).to(W.dtype)


def rms_norm(
    a: Float[Tensor, "..."], gain: Float[Tensor, " H"] | None = None, eps: float = EPS, dim: int = -1
) -> Float[Tensor, "..."]:
    r"""Divide each case by the root mean square of its units: layer norm without the mean.

    $\bar a_i = g_i\,a_i / \sqrt{\frac1H \sum_j a_j^2 + \epsilon}$.

    *Source* Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).

    Args:
        a: summed inputs; the H units along axis `dim`, every other axis counts cases.
        gain: one number a unit; 1 where left out.
        eps: added to the mean square.
        dim: the axis of the units, counted from either end.

    Returns:
        The normalized summed inputs, shaped like `a`; a zero case stays zero, also at `eps = 0`.

    Raises:
        TypeError: `a` is not floating point, or a parameter not a real tensor.
        ValueError: no units, no axis `dim`, wrong shape of `gain`, negative `eps`.

    >>> rms_norm(torch.tensor([[3.0, 4.0, 0.0, 0.0]]), eps=0.0)
    tensor([[1.2000, 1.6000, 0.0000, 0.0000]])
    """
    check_units("rms_norm", a, eps, dim)
    gain, _ = parameters_for("rms_norm", a, gain, None, a.shape[dim])
    x = widen(a).movedim(dim, -1)
    if may_branch(x) and is_accurate(rstd := (x.square().mean(-1, keepdim=True) + eps).rsqrt(), eps):
        out = x * rstd
    else:
        d, eps_scaled = rescale(x, [-1], eps)
        out = over_root(d, d.square().sum(-1, keepdim=True) / d.shape[-1] + eps_scaled)
    return affine(out, gain, None, -1).to(a.dtype).movedim(-1, dim)
