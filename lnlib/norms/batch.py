r"""Batch norm, by the statistics of the batch or by given ones, as functions of tensors: Eq. (2).

The conventions are those of :mod:`lnlib.norms.normalize`. Units whose variance is small beside their mean are
computed a second time, in a robust way.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from lnlib.norms.checks import check_channels, check_entries, parameters_for
from lnlib.norms.standardize import EPS, accurate_sets, affine, is_accurate, may_branch, standardize, widen

__all__ = ["batch_norm", "batch_norm_by", "batch_norm_moments"]


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
