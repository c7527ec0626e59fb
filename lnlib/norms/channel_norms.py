r"""The normalizations of channels over space: of pictures and sounds, later than the paper.

=====================  =======================================================
function               one mean and one standard deviation for
=====================  =======================================================
:func:`group_norm`     each case and group of channels, over group and space
:func:`instance_norm`  each case and channel, over space
=====================  =======================================================

The conventions are those of :mod:`lnlib.norms.normalize`.
"""

import math

from jaxtyping import Float
from torch import Tensor

from lnlib.norms.checks import check_channels, check_groups, parameters_for
from lnlib.norms.standardize import EPS, affine, laid_out_as, standardize_rows, widen

__all__ = ["group_norm", "instance_norm"]


def group_norm(
    a: Float[Tensor, "N C *space"],
    groups: int,
    gain: Float[Tensor, " C"] | None = None,
    bias: Float[Tensor, " C"] | None = None,
    eps: float = EPS,
) -> Float[Tensor, "N C *space"]:
    r"""Normalize each case over groups of neighbouring channels and all of space.

    $\bar a_c = g_c\,(a_c - \mu_k)/\sqrt{\sigma_k^2 + \epsilon} + b_c$ for channel c in group k.

    *Source* Wu and He, "Group Normalization" (2018). One group is layer norm over channels and space.

    Args:
        a: cases by channels by space (any number of axes, also none).
        groups: how many groups; divides C.
        gain, bias: one number a channel; 1 and 0 where left out.
        eps: added to the variance.

    Returns:
        The normalized values, shaped like `a`; with the channels last in memory if `a` has them there.

    Raises:
        TypeError: `a` is not floating point, `groups` not an integer, or a parameter not a real tensor.
        ValueError: no channels, `groups` does not divide them, wrong shape of `gain` or `bias`.

    >>> import torch
    >>> group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), groups=2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    check_channels("group_norm", a, eps)
    channels = a.shape[1]
    gain, bias = parameters_for("group_norm", a, gain, bias, channels)
    check_groups("group_norm", groups, channels)
    rows = widen(a).reshape(a.shape[0], groups, math.prod(a.shape[1:]) // groups)
    out = standardize_rows(rows, None, None, eps).reshape(a.shape)
    return laid_out_as(a, affine(out, gain, bias, 1).to(a.dtype))


def instance_norm(
    a: Float[Tensor, "N C *space"],
    gain: Float[Tensor, " C"] | None = None,
    bias: Float[Tensor, " C"] | None = None,
    eps: float = EPS,
) -> Float[Tensor, "N C *space"]:
    r"""Normalize each channel of each case over space: group norm with one channel a group.

    $\bar a_c = g_c\,(a_c - \mu_c)/\sqrt{\sigma_c^2 + \epsilon} + b_c$, statistics over space.

    *Source* Ulyanov, Vedaldi, Lempitsky, "Instance Normalization" (2016).

    Args:
        a: cases by channels by space.
        gain, bias: one number a channel; 1 and 0 where left out.
        eps: added to the variance.

    Returns:
        The normalized values, shaped like `a`.

    Raises:
        TypeError: `a` is not floating point, or a parameter not a real tensor.
        ValueError: no channels or no space, wrong shape of `gain` or `bias`, negative `eps`.

    >>> import torch
    >>> instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]), eps=0.0)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    check_channels("instance_norm", a, eps, least_axes=3)
    gain, bias = parameters_for("instance_norm", a, gain, bias, a.shape[1])
    out = standardize_rows(widen(a).flatten(2), None, None, eps)
    return affine(out.reshape(a.shape), gain, bias, 1).to(a.dtype)
