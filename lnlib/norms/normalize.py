r"""The norms over values of one case, and weight norm, as functions of tensors; what holds for all norms.

Every one of them, as batch norm (:mod:`lnlib.norms.batch`), is Eq. (5) with its own rule for which numbers
share a mean and a standard deviation: $\bar a = \frac{g}{\sigma}(a - \mu) + b$.

=====================  =======================================================  ==========
function               one mean and one standard deviation for                  paper
=====================  =======================================================  ==========
:func:`layer_norm`     each case, over the units                                Eq. (3)
:func:`weight_norm`    each row of W: no mean, the Euclidean norm               Eq. (5)
:func:`rms_norm`       each case: no mean, the root mean square                 (later)
:func:`group_norm`     each case and group of channels, over group and space    (later)
:func:`instance_norm`  each case and channel, over space                        (later)
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
from jaxtyping import Float
from torch import Tensor

from lnlib.norms.checks import check_axes, check_channels, check_input, parameters_for
from lnlib.norms.standardize import EPS, affine, from_first, in_range, over_root, widen

__all__ = ["group_norm", "instance_norm", "layer_norm", "rms_norm", "weight_norm"]


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
        TypeError: `a` is not a floating point tensor.
        ValueError: no units, no axis `dim` or one twice, wrong shape of `gain` or `bias`, negative `eps`.

    >>> layer_norm(torch.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]), bias=torch.tensor([0.0, 0.5, 1.0]))
    tensor([[-1.2247,  0.5000,  2.2247],
            [ 0.0000,  0.5000,  1.0000]])
    """
    check_input("layer_norm", a, eps)
    dims = tuple(dim) if isinstance(dim, Sequence) else (dim,)
    check_axes("layer_norm", a, dims)
    last = tuple(range(-len(dims), 0))
    x = widen(a).movedim(dims, last)
    units = x.shape[-len(dims) :]
    gain, bias = parameters_for("layer_norm", x, units, gain, bias)
    x, eps = from_first(x, last, eps)  # a shift changes nothing, and large means would cost digits
    # mean and var over the units, then (x - mean) / sqrt(var + eps) * gain + bias
    return torch.nn.functional.layer_norm(x, units, gain, bias, eps).movedim(last, dims).to(a.dtype)


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
        TypeError: `W` is not a floating point tensor.
        ValueError: no units or no inputs, wrong shape of `gain`.

    >>> weight_norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), gain=torch.tensor([10.0, 1.0]))
    tensor([[6., 8.],
            [0., 0.]])
    """
    check_input("weight_norm", W, 0.0)
    check_channels("weight_norm", W)
    rows = widen(W).flatten(1)
    (gain,) = parameters_for("weight_norm", rows, W.shape[:1], gain)
    d = in_range(rows, [1])  # rows of any length: a scale changes nothing
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
        TypeError: `a` is not a floating point tensor.
        ValueError: no units, no axis `dim`, wrong shape of `gain`, negative `eps`.

    >>> rms_norm(torch.tensor([[3.0, 4.0, 0.0, 0.0]]), eps=0.0)
    tensor([[1.2000, 1.6000, 0.0000, 0.0000]])
    """
    check_input("rms_norm", a, eps)
    check_axes("rms_norm", a, [dim])
    x = widen(a)
    (gain,) = parameters_for("rms_norm", x, [a.shape[dim]], gain)
    if eps == 0:
        x = in_range(x, [dim])
    out = over_root(x, x.square().mean(dim, keepdim=True) + eps)
    return affine(out, gain, None, dim).to(a.dtype)


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
        The normalized values, shaped like `a`.

    Raises:
        TypeError: `a` is not a floating point tensor.
        ValueError: no channels, `groups` does not divide them, wrong shape of `gain` or `bias`.

    >>> group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), groups=2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    check_input("group_norm", a, eps)
    check_channels("group_norm", a)
    channels = a.shape[1]
    if groups < 1 or channels % groups:
        raise ValueError(
            f"group_norm: groups must divide the channels, and {groups} does not divide {channels}; "
            f"choose one of {[k for k in range(1, channels + 1) if channels % k == 0]}"
        )
    return _by_groups("group_norm", a, groups, gain, bias, eps)


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
        TypeError: `a` is not a floating point tensor.
        ValueError: no channels or no space, wrong shape of `gain` or `bias`, negative `eps`.

    >>> instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]), eps=0.0)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    check_input("instance_norm", a, eps)
    check_channels("instance_norm", a, least_axes=3)
    return _by_groups("instance_norm", a, a.shape[1], gain, bias, eps)


def _by_groups(
    name: str, a: Tensor, groups: int, gain: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    x = widen(a)
    gain, bias = parameters_for(name, x, a.shape[1:2], gain, bias)
    rows = x.reshape(a.shape[0], groups, math.prod(a.shape[1:]) // groups)
    rows, eps = from_first(rows, [-1], eps)  # a shift changes nothing
    out = torch.nn.functional.layer_norm(rows, rows.shape[-1:], eps=eps)
    return affine(out.reshape(a.shape), gain, bias, 1).to(a.dtype)
