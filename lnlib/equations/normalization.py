r"""Sections 1 to 3 and the supplement's layer norm: Eqs. (1)-(3), (5), (15), (16)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

__all__ = ["eq1", "eq2", "eq2_statistics", "eq3", "eq5", "eq15", "eq16"]

Array = np.ndarray


def eq1(
    W: Float[Array, "H D"], h: Float[Array, " D"], b: Float[Array, " H"], f: Callable[[float], float]
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    r"""Eq. (1): summed inputs and outputs of a feed-forward layer.

    $a_i = w_i^\top h$ and $h^{l+1}_i = f(a_i + b_i)$.

    Returns the pair (a, h at level l + 1).

    >>> eq1(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]), np.array([-1.0]), lambda a: 2 * a)
    (array([11.]), array([20.]))
    """
    H, D = W.shape
    a = np.zeros(H)
    for i in range(H):
        for j in range(D):
            a[i] += W[i, j] * h[j]
    return a, np.array([f(a[i] + b[i]) for i in range(H)])


def eq2_statistics(a: Float[Array, "N H"]) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    r"""The statistics of Eq. (2): one mean and one standard deviation per unit, over the cases.

    $\mu_i = E_x[a_i]$, $\sigma_i = \sqrt{E_x[(a_i - \mu_i)^2]}$. The expectation is under the whole data
    distribution; over a mini-batch the same arithmetic gives the estimate that batch normalization uses.
    """
    N, H = a.shape
    mu, sigma = np.zeros(H), np.zeros(H)
    for i in range(H):
        mu[i] = sum(a[n, i] for n in range(N)) / N
        sigma[i] = np.sqrt(sum((a[n, i] - mu[i]) ** 2 for n in range(N)) / N)
    return mu, sigma


def eq2(a: Float[Array, "N H"], g: Float[Array, " H"]) -> Float[Array, "N H"]:
    r"""Eq. (2): batch normalization, $\bar a_i = \frac{g_i}{\sigma_i}(a_i - \mu_i)$.

    Rows of `a` are cases, columns are units; the expectations are over the given cases.

    >>> eq2(np.array([[1.0, 0.0], [3.0, 8.0]]), np.ones(2))
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    N, H = a.shape
    mu, sigma = eq2_statistics(a)
    return np.array([[g[i] / sigma[i] * (a[n, i] - mu[i]) for i in range(H)] for n in range(N)])


def eq3(a: Float[Array, " H"]) -> tuple[float, float]:
    r"""Eq. (3): layer normalization's statistics of one training case, over the H units of a layer.

    $\mu = \frac1H\sum_i a_i$, $\sigma = \sqrt{\frac1H\sum_i (a_i-\mu)^2}$: biased, and without epsilon.

    >>> eq3(np.array([1.0, 2.0, 3.0, 6.0]))
    (3.0, 1.8708286933869707)
    """
    H = len(a)
    mu = sum(a[i] for i in range(H)) / H
    sigma = np.sqrt(sum((a[i] - mu) ** 2 for i in range(H)) / H)
    return float(mu), float(sigma)


def eq5(
    a: Float[Array, " H"],
    mu: Float[Array, " H"] | float,
    sigma: Float[Array, " H"] | float,
    g: Float[Array, " H"],
    b: Float[Array, " H"],
    f: Callable[[float], float],
) -> Float[Array, " H"]:
    r"""Eq. (5): every method of the paper in one line, $h_i = f(\frac{g_i}{\sigma_i}(a_i - \mu_i) + b_i)$.

    Layer norm: `mu`, `sigma` of Eq. (3), shared by the units. Batch norm: those of Eq. (2), one a unit.
    Weight norm: `mu` = 0 and `sigma[i]` = $\|w_i\|_2$.

    *Erratum* the sentence under the equation says that layer norm and batch norm take their scalars from
    "Eq. 2 and 3": in that order it should read 3 and 2.

    >>> eq5(np.array([1.0, 3.0]), 2.0, 1.0, np.ones(2), np.zeros(2), lambda z: z)
    array([-1.,  1.])
    """
    H = len(a)
    mu, sigma = np.broadcast_to(mu, H), np.broadcast_to(sigma, H)
    return np.array([f(g[i] / sigma[i] * (a[i] - mu[i]) + b[i]) for i in range(H)])


def eq15(z: Float[Array, " D"], alpha: Float[Array, " D"], beta: Float[Array, " D"]) -> Float[Array, " D"]:
    r"""Eq. (15): layer norm as the supplement writes it.

    $LN(z;\alpha,\beta) = \frac{z-\mu}{\sigma}\odot\alpha+\beta$.

    *Erratum* the supplement then calls alpha additive and beta multiplicative and starts alpha at zeros,
    beta at ones. The words are right, the letters exchanged: in this equation alpha multiplies and beta adds.
    By the letters, the result at the start is a vector of ones; by the words, alpha = 1 and beta = 0 there.

    >>> eq15(np.array([1.0, 2.0, 3.0, 6.0]), np.zeros(4), np.ones(4))
    array([1., 1., 1., 1.])
    """
    mu, sigma = eq16(z)
    return (z - mu) / sigma * alpha + beta


def eq16(z: Float[Array, " D"]) -> tuple[float, float]:
    r"""Eq. (16): the statistics of Eq. (15); Eq. (3) with z for a and D for H.

    >>> eq16(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    D = len(z)
    mu = sum(z[i] for i in range(D)) / D
    sigma = np.sqrt(sum((z[i] - mu) ** 2 for i in range(D)) / D)
    return float(mu), float(sigma)
