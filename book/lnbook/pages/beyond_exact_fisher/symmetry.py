r"""The hidden symmetry of layer norm: rows slide along rays of their own, and no output changes.

With $w_i^c = w_i - \frac1H\sum_k w_k$, a layer $z_i = g_i\,w_i^{c\top}x/\sigma + b_i$,
$\sigma^2 = \frac1H x^\top S x$, $S = \sum_i w_i^c w_i^{c\top}$, does not change under $w_i^c \to t_i w_i^c$,
$g_i \to g_i/t_i$ as long as

$$\sum_i t_i\,w_i^c = 0 \qquad\text{and}\qquad \sum_i t_i^2\,w_i^c w_i^{c\top} = S .$$

The first keeps the rows centered, the second keeps every case's $\sigma$: $D + D(D+1)/2$ conditions on $H$
numbers.
"""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.glm import GLM

STEP = 0.02


def slid(glm: GLM, t: Float[Tensor, " H"]) -> GLM:
    r"""$w_i^c \to t_i w_i^c$ and $g_i \to g_i/t_i$; the mean row stays."""
    assert glm.gain is not None
    mean = glm.W.mean(0)
    return replace(glm, W=mean + t[:, None] * (glm.W - mean), gain=glm.gain / t)


def slide(W: Float[Tensor, "H D"], direction: Float[Tensor, " H"], length: float) -> Float[Tensor, "S H"]:
    r"""A path of factors t along the hidden symmetry, from ones, each point exact to rounding.

    With c(t) the two conditions above, right sides taken to the left, and A their derivative: predictor, the
    last direction less $A^+A$ times it; corrector, Newton's $t \leftarrow t - A^+c(t)$. It ends before a
    factor reaches 0, where a gain diverges.
    """
    Wc, path = W - W.mean(0), [W.new_ones(len(W))]
    d, e = torch.triu_indices(W.shape[1], W.shape[1])
    pairs = (Wc[:, d] * Wc[:, e]).mT  # the upper triangle of each w_i w_i^T, one column per unit
    enough = 64 * torch.finfo(W.dtype).eps * float(Wc.square().sum())

    def derivative(t: Tensor) -> Float[Tensor, "R H"]:
        return torch.cat([Wc.mT, 2 * pairs * t])

    def shortest(A: Tensor, off: Tensor) -> Float[Tensor, " H"]:
        return torch.linalg.lstsq(A, off, driver="gelsd").solution  # A^+ times off

    for _ in range(math.ceil(length / STEP)):
        A = derivative(path[-1])
        direction = torch.nn.functional.normalize(direction - shortest(A, A @ direction), dim=0)
        t = path[-1] + STEP * direction
        for _ in range(20):
            off = torch.cat([Wc.mT @ t, pairs @ (t.square() - 1)])
            if float(off.abs().max()) <= enough:
                break
            t = t - shortest(derivative(t), off)
        if not bool((t > 0).all()):
            break
        path.append(t)
    return torch.stack(path)
