r"""Layer, weight and RMS norm as functions of tensors, and what holds for all norms.

Every one of them, as batch norm (:mod:`lnlib.norms.batch`) and those of :mod:`lnlib.norms.channel_norms`, is
Eq. (5) with its own rule for which numbers share a mean and a standard deviation:
$\bar a = \frac{g}{\sigma}(a - \mu) + b$.

=====================  =======================================================  ==========
function               one mean and one standard deviation for                  paper
=====================  =======================================================  ==========
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

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from lnlib.norms.checks import check_channels, check_entries, check_units, parameters_for
from lnlib.norms.standardize import (
    EPS,
    affine,
    is_accurate,
    may_branch,
    over_root,
    rescale,
    standardize_rows,
    widen,
)

__all__ = ["layer_norm", "rms_norm", "weight_norm"]


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

    >>> import torch
    >>> layer_norm(torch.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]), bias=torch.tensor([0.0, 0.5, 1.0]))
    tensor([[-1.2247,  0.5000,  2.2247],
            [ 0.0000,  0.5000,  1.0000]])
    """
    if isinstance(dim, Sequence):
        return _over_axes(a, gain, bias, eps, tuple(dim))
    check_units("layer_norm", a, eps, dim)
    gain, bias = parameters_for("layer_norm", a, gain, bias, a.shape[dim])
    if dim in (-1, a.ndim - 1):
        return standardize_rows(a, gain, bias, eps).to(a.dtype)
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

    >>> import torch
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

    >>> import torch
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
