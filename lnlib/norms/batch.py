r"""Batch norm, by the statistics of the batch or by given ones, as functions of tensors: Eq. (2).

The conventions are those of :mod:`lnlib.norms.normalize`.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.norms.checks import check_channels, check_input, parameters_for
from lnlib.norms.standardize import EPS, affine, from_first, widen

__all__ = ["batch_norm", "batch_norm_by"]


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
        TypeError: `a` is not a floating point tensor.
        ValueError: no units, one case with `unbiased`, wrong shape of `gain` or `bias`, negative `eps`.

    >>> batch_norm(torch.tensor([[1.0, 0.0], [3.0, 8.0]]), eps=0.0)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    """
    check_input("batch_norm", a, eps)
    check_channels("batch_norm", a)
    x, cases = widen(a), a.numel() // a.shape[1]
    if not torch.compiler.is_compiling() and x.device.type == "cpu" and cases > 2**13:
        x = x.double()  # the kernel adds up case after case (and a compiled graph shall take any number)
    gain, bias = parameters_for("batch_norm", x, a.shape[1:2], gain, bias)
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
    if cases == 0:
        return affine(x, gain, bias, 1).to(a.dtype)
    x, eps = from_first(x, [0, *range(2, a.ndim)], eps)  # a shift changes nothing
    # mean and var over the cases, then (x - mean) / sqrt(var + eps) * gain + bias
    return torch.native_batch_norm(x, gain, bias, None, None, True, 0.0, eps)[0].to(a.dtype)


@torch.no_grad()
def batch_moments(a: Float[Tensor, "N H *space"]) -> tuple[Float[Tensor, " H"], Float[Tensor, " H"]]:
    """Each unit's mean and unbiased variance over two cases or more, without gradient: for running averages.

    >>> batch_moments(torch.tensor([[1.0, 0.0], [3.0, 8.0]]))
    (tensor([2., 4.]), tensor([ 2., 32.]))
    """
    x, over = widen(a), [0, *range(2, a.ndim)]
    center = x.mean(over, keepdim=True)
    d = x - center
    d -= d.mean(over, keepdim=True)  # what the rounding of the center left
    return center.flatten(), d.square().sum(over) / (a.numel() // a.shape[1] - 1)


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
        TypeError: `a` is not a floating point tensor.
        ValueError: no units, wrong shape of `mean`, `var`, `gain` or `bias`, negative `eps`.

    >>> batch_norm_by(torch.tensor([[5.0]]), mean=torch.tensor([1.0]), var=torch.tensor([4.0]), eps=0.0)
    tensor([[2.]])
    """
    check_input("batch_norm_by", a, eps)
    check_channels("batch_norm_by", a)
    x, column = widen(a), (-1, *[1] * (a.ndim - 2))
    center, spread, gain, bias = parameters_for("batch_norm_by", x, a.shape[1:2], mean, var, gain, bias)
    assert center is not None
    assert spread is not None
    d, std = x - center.view(column), (spread + eps).sqrt().view(column)
    std = std.masked_fill(std == math.inf, math.nan)  # beyond the range: unknown, and no reason for zeros
    if eps == 0:  # 0 / 0 is 0 by definition
        std = torch.where((d == 0) & (std == 0), math.inf, std)
    return affine(d / std, gain, bias, 1).to(a.dtype)
