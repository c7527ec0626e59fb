r"""Section 5.1: what a layer-normalized layer does not see, Eqs. (6) and (7)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from lnlib.equations.normalization import Array, eq3, eq5

__all__ = ["eq6", "eq7"]


def eq6(
    W: Float[Array, "H D"],
    x: Float[Array, " D"],
    g: Float[Array, " H"],
    b: Float[Array, " H"],
    f: Callable[[float], float],
    delta: float,
    gamma: Float[Array, " D"],
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    r"""Eq. (6): layer norm's outputs with the weights $W' = \delta W + 1\gamma^\top$ and with W.

    $h' = f(\frac{g}{\sigma'}(W'x - \mu') + b) = f(\frac{g}{\sigma}(Wx - \mu) + b) = h$.

    *Erratum* for $\delta > 0$ only. $\sigma' = |\delta|\sigma$, so a negative $\delta$ turns the sign of the
    normalized summed inputs exactly, and $\delta = 0$ leaves 0/0.

    Returns the pair (h', h): both ends of the printed chain.

    >>> W, x, one, zero = np.array([[1.0], [3.0]]), np.ones(1), np.ones(2), np.zeros(2)
    >>> eq6(W, x, one, zero, lambda z: z, 5.0, np.array([7.0]))
    (array([-1.,  1.]), array([-1.,  1.]))
    >>> eq6(W, x, one, zero, lambda z: z, -5.0, np.array([7.0]))
    (array([ 1., -1.]), array([-1.,  1.]))
    """
    H, D = W.shape
    W_prime = np.array([[delta * W[i, j] + gamma[j] for j in range(D)] for i in range(H)])
    return _layer_norm_layer(W_prime, x, g, b, f), _layer_norm_layer(W, x, g, b, f)


def eq7(
    W: Float[Array, "H D"],
    x: Float[Array, " D"],
    g: Float[Array, " H"],
    b: Float[Array, " H"],
    f: Callable[[float], float],
    delta: float,
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    r"""Eq. (7): layer norm's outputs for the case $x' = \delta x$ and for x.

    $h_i' = f(\frac{g_i}{\sigma'}(w_i^\top x' - \mu') + b_i) = h_i$.

    *Erratum* for $\delta > 0$ only, as Eq. (6).

    Returns the pair (h', h).

    >>> W, x, one, zero = np.array([[1.0], [3.0]]), np.ones(1), np.ones(2), np.zeros(2)
    >>> eq7(W, x, one, zero, lambda z: z, 0.25)
    (array([-1.,  1.]), array([-1.,  1.]))
    """
    x_prime = np.array([delta * x_j for x_j in x])
    return _layer_norm_layer(W, x_prime, g, b, f), _layer_norm_layer(W, x, g, b, f)


def _layer_norm_layer(
    W: Float[Array, "H D"],
    x: Float[Array, " D"],
    g: Float[Array, " H"],
    b: Float[Array, " H"],
    f: Callable[[float], float],
) -> Float[Array, " H"]:
    """Eqs. (3) and (5) on the summed inputs of one case."""
    H, D = W.shape
    a = np.array([sum(W[i, j] * x[j] for j in range(D)) for i in range(H)])
    return eq5(a, *eq3(a), g, b, f)
