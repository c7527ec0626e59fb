r"""The supplement's last page: learning the magnitude of incoming weights, Eqs. (32)-(35).

How far does the model move, in KL divergence, when the gains change by $\delta_g$? And when the rows of W
grow by as much in a model without normalization? Expectations over x are averages over the given cases.
"""

import numpy as np
from jaxtyping import Float

from lnlib.equations.geometry import eq12
from lnlib.equations.normalization import Array

__all__ = ["eq32", "eq33", "eq34", "eq35", "eq35_left"]


def eq32(cov: Float[Array, "N H H"], phi: float, delta_g: Float[Array, " H"]) -> float:
    r"""Eq. (32), batch norm: the covariance of the outputs alone.

    $ds^2 = \frac12\delta_g^\top E_x\big[\frac{\mathrm{Cov}[y|x]}{\phi^2}\big]\delta_g$.

    *Erratum* the gains' block of Eq. (13) is $E_x\big[\mathrm{Cov}[y_i,y_j|x]\,\hat a_i\hat a_j\big]/\phi^2$
    with $\hat a_i = (a_i-\mu_i)/\sigma_i$, and the print drops $\hat a_i\hat a_j$ from the expectation. For
    independent outputs whose variance is the same in every case nothing is lost, because
    $E_x[\hat a_i^2] = 1$. Otherwise the variance of the output goes with $\hat a_i^2$: with normal $\hat a$,
    b = 0 and g = 1 the print is 1.43 times the truth for Bernoulli outputs and half of it for Poisson ones.

    Args:
        cov: $\mathrm{Cov}[y|x]$ of each case, (N, H, H).
        delta_g: change of the gains, (H,).

    >>> eq32(np.array([[[1.0]], [[3.0]]]), 1.0, np.array([2.0]))
    4.0
    """
    N, H, _ = cov.shape
    middle = sum(cov[n] / phi**2 for n in range(N)) / N
    return float(0.5 * sum(delta_g[i] * middle[i, j] * delta_g[j] for i in range(H) for j in range(H)))


def eq33(
    cov: Float[Array, "N H H"],
    a: Float[Array, "N H"],
    mu: Float[Array, " N"],
    sigma: Float[Array, " N"],
    phi: float,
    delta_g: Float[Array, " H"],
) -> float:
    r"""Eq. (33), layer norm: each entry of the covariance times two normalized summed inputs.

    $ds^2 = \frac12\delta_g^\top\frac1{\phi^2}E_x\big[\mathrm{Cov}(y_i,y_j|x)
    \frac{(a_i-\mu)(a_j-\mu)}{\sigma^2}\big]_{ij}\delta_g$.

    Args:
        a: summed inputs, (N, H).
        mu, sigma: of each case, Eq. (3), (N,).

    >>> cov, a = np.eye(2)[None], np.array([[1.0, 5.0]])
    >>> eq33(cov, a, np.array([3.0]), np.array([2.0]), 1.0, np.array([1.0, 2.0]))
    2.5
    """
    N, H = a.shape
    ds2 = 0.0
    for n in range(N):
        for i in range(H):
            for j in range(H):
                entry = cov[n, i, j] * (a[n, i] - mu[n]) * (a[n, j] - mu[n]) / sigma[n] ** 2
                ds2 += 0.5 * delta_g[i] / phi**2 * entry / N * delta_g[j]
    return float(ds2)


def eq34(
    cov: Float[Array, "N H H"],
    a: Float[Array, "N H"],
    W: Float[Array, "H D"],
    phi: float,
    delta_g: Float[Array, " H"],
) -> float:
    r"""Eq. (34), weight norm: $\hat a_i = a_i/\|w_i\|_2$ in the place of layer norm's.

    $ds^2 = \frac12\delta_g^\top\frac1{\phi^2}E_x\big[\mathrm{Cov}(y_i,y_j|x)
    \frac{a_ia_j}{\|w_i\|_2\|w_j\|_2}\big]_{ij}\delta_g$.

    >>> W, x = np.array([[3.0, 4.0]]), np.array([1.0, 0.5])
    >>> eq34(np.ones((1, 1, 1)), (W @ x)[None], W, 1.0, np.ones(1))
    0.5
    """
    N, H = a.shape
    ds2 = 0.0
    for n in range(N):
        for i in range(H):
            for j in range(H):
                entry = cov[n, i, j] * a[n, i] * a[n, j] / (_length(W[i]) * _length(W[j]))
                ds2 += 0.5 * delta_g[i] / phi**2 * entry / N * delta_g[j]
    return float(ds2)


def eq35(
    cov: Float[Array, "N H H"],
    a: Float[Array, "N H"],
    W: Float[Array, "H D"],
    phi: float,
    delta_g: Float[Array, " H"],
    i: int,
    j: int,
) -> float:
    r"""Eq. (35), right side: what the rows i and j of a model without normalization share.

    $\frac{\delta_{gi}\delta_{gj}}{2\phi^2}E_x\big[\mathrm{Cov}(y_i,y_j|x)
    \frac{a_ia_j}{\|w_i\|_2\|w_j\|_2}\big]$: row i moves by $\delta_{gi}w_i/\|w_i\|_2$, row j likewise.

    *Erratum* this is one term of the sum that the left side is. Moving both rows gives the terms (i, i),
    (i, j), (j, i) and (j, j); for independent outputs the printed term is 0 and the left side is not. Summed
    over all i and j the terms are exactly the metric of moving every row.

    >>> W, x = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([1.0, 0.5])
    >>> eq35(np.ones((1, 2, 2)), (W @ x)[None], W, 1.0, np.ones(2), 0, 1)
    0.25
    """
    N = len(a)
    norm_i, norm_j = _length(W[i]), _length(W[j])
    mean = sum(cov[n, i, j] * a[n, i] * a[n, j] / (norm_i * norm_j) for n in range(N)) / N
    return float(delta_g[i] * delta_g[j] / (2 * phi**2) * mean)


def eq35_left(
    X: Float[Array, "N D"],
    cov: Float[Array, "N H H"],
    W: Float[Array, "H D"],
    phi: float,
    delta_g: Float[Array, " H"],
    i: int,
    j: int,
) -> float:
    r"""Eq. (35), left side: $\frac12 u^\top F([w_i,b_i,w_j,b_j])\,v$ with F of Eq. (12).

    $u = [\delta_{gi}\frac{w_i}{\|w_i\|_2}, 0, \delta_{gj}\frac{w_j}{\|w_i\|_2}, 0]$ and
    $v = [\delta_{gi}\frac{w_i}{\|w_i\|_2}, 0, \delta_{gj}\frac{w_j}{\|w_j\|_2}, 0]$.

    *Erratum* in u the row $w_j$ is divided by the length of $w_i$; it must be its own. Then u = v, and the
    form is the metric of moving both rows, in this example 1/2 (1 + 1/4) = 0.625.

    >>> W, X = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[1.0, 0.5]])
    >>> eq35_left(X, np.eye(2)[None], W, 1.0, np.ones(2), 0, 1)
    0.55
    """
    norm_i, norm_j = _length(W[i]), _length(W[j])
    zero = np.zeros(1)
    u = np.concatenate([delta_g[i] * W[i] / norm_i, zero, delta_g[j] * W[j] / norm_i, zero])
    v = np.concatenate([delta_g[i] * W[i] / norm_i, zero, delta_g[j] * W[j] / norm_j, zero])
    F = eq12(X, cov[:, [i, j], :][:, :, [i, j]], phi)
    return float(0.5 * sum(u[p] * F[p, q] * v[q] for p in range(len(u)) for q in range(len(v))))


def _length(w: Float[Array, " D"]) -> float:
    """The Euclidean norm."""
    return float(np.sqrt(sum(w_k**2 for w_k in w)))
