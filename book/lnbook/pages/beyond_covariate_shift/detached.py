r"""Layer norm whose backward pass takes the mean, the standard deviation, or both, for constants.

The outputs are those of layer norm. In the gradient each statistic stands for one direction: with
$\delta_i = g_i\,\partial L/\partial\bar a_i$,

=====================  =====================================================================
taken for constants    gradient with respect to a
=====================  =====================================================================
nothing                $\frac1\sigma(\delta - \overline\delta\,\mathbf 1 - \hat a\,\overline{\hat a\delta})$
the mean               $\frac1\sigma(\delta - \hat a\,\overline{\hat a\delta})$
the deviation          $\frac1\sigma(\delta - \overline\delta\,\mathbf 1)$
both                   $\frac1\sigma\,\delta$
=====================  =====================================================================

where a bar is a mean over the units. *Source* the last row is the DetachNorm of Xu, Sun, Zhang, Zhao, Lin,
"Understanding and Improving Layer Normalization" (2019).
"""

from collections.abc import Collection

from jaxtyping import Float
from torch import Tensor

from lnlib.norms.checks import check_units, parameters_for
from lnlib.norms.standardize import affine, inner_mean, over_root, rescale, widen

__all__ = ["STATISTICS", "detached_layer_norm"]

STATISTICS = ("mean", "std")


def detached_layer_norm(
    a: Float[Tensor, "..."],
    gain: Float[Tensor, " H"] | None = None,
    bias: Float[Tensor, " H"] | None = None,
    eps: float = 1e-5,
    detach: Collection[str] = STATISTICS,
) -> Float[Tensor, "..."]:
    r"""Normalize each case over its units, and differentiate as if some of its statistics were constants.

    $\bar a_i = g_i\,(a_i - \mu)/\sqrt{\sigma^2 + \epsilon} + b_i$.

    *Source* Eqs. (3) and (5); the detached statistics are Xu and others (2019).

    Args:
        a: summed inputs; the H units along the last axis, every other axis counts cases.
        gain, bias: one number a unit; 1 and 0 where left out.
        eps: added to the variance.
        detach: which statistics pass no gradient: "mean", "std", both or none of them.

    Returns:
        The normalized summed inputs, shaped like `a`: to rounding those of `lnlib.layer_norm`.

    Raises:
        TypeError: `a` is not floating point.
        ValueError: another name in `detach`, no units, wrong shape of `gain` or `bias`, negative `eps`.

    >>> import torch
    >>> a = torch.tensor([1.0, 3.0, 9.0, 19.0], dtype=torch.float64, requires_grad=True)  # std 7
    >>> for detach in ((), ("mean", "std")):
    ...     out = detached_layer_norm(a, eps=0.0, detach=detach)
    ...     print((7 * torch.autograd.grad(out.sum(), a)[0]).round(decimals=6).abs().tolist())
    [0.0, 0.0, 0.0, 0.0]
    [1.0, 1.0, 1.0, 1.0]
    """
    if isinstance(detach, str) or not set(detach) <= set(STATISTICS):
        raise ValueError(f"detached_layer_norm: detach is {detach!r}; give a collection of {STATISTICS}")
    check_units("detached_layer_norm", a, eps, -1)
    gain, bias = parameters_for("detached_layer_norm", a, gain, bias, a.shape[-1])
    x, eps_scaled = rescale(widen(a), [-1], eps)
    x = x - inner_mean(x, [-1])
    mean = x.mean(-1, keepdim=True)
    d = x - (mean.detach() if "mean" in detach else mean)
    # d sums to 0, so the mean inside the variance has no gradient whether or not it is a constant
    power = d.square().mean(-1, keepdim=True) + eps_scaled
    out = over_root(d, power.detach() if "std" in detach else power)
    return affine(out, gain, bias, -1).to(a.dtype)
