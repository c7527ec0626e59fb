r"""Layer norm whose backward pass takes the mean, the standard deviation, or both, for constants.

The outputs are those of layer norm. In the gradient each statistic stands for one direction: with
$\delta_i = \partial L/\partial\bar a_i$,

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

from lnlib.norms.standardize import over_root


def detached_layer_norm(
    a: Float[Tensor, "..."], eps: float = 1e-5, detach: Collection[str] = ("mean", "std")
) -> Float[Tensor, "..."]:
    r"""Normalize each case over its units, and differentiate as if some of its statistics were constants."""
    x = a - a.detach()[..., :1]  # a shift changes nothing, and equal values become 0
    mean = x.mean(-1, keepdim=True)
    d = x - (mean.detach() if "mean" in detach else mean)
    # d sums to 0, so the mean inside the variance has no gradient whether or not it is a constant
    power = d.square().mean(-1, keepdim=True) + eps
    return over_root(d, power.detach() if "std" in detach else power)
