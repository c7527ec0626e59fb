r"""Section 5.2: the metric of parameter space and the Fisher matrix of (normalized) GLMs, Eqs. (8)-(14).

Expectations over x are averages over the given cases, rows n of arrays with N rows. Parameters are ordered
as printed: $[w_1, b_1, w_2, \dots]$, with gains $[w_1, b_1, g_1, w_2, \dots]$.
"""

from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Float

from lnlib.equations.normalization import Array, eq2_statistics, eq3

__all__ = [
    "eq8",
    "eq9",
    "eq10",
    "eq11",
    "eq12",
    "eq13",
    "eq14",
    "eq14_batch",
    "eq14_layer",
    "eq14_weight",
]


def eq8(F: Float[Array, "P P"], delta: Float[Array, " P"]) -> float:
    r"""Eq. (8), right side: the squared length of a small step, $\frac12\delta^\top F(\theta)\,\delta$.

    *Erratum* the left side, $D_{KL}[P(y|x;\theta)\,\|\,P(y|x;\theta+\delta)]$, depends on x and F of Eq. (9)
    does not: an expectation $E_x$ is missing there.

    >>> eq8(np.array([[2.0, 1.0], [1.0, 4.0]]), np.array([1.0, -1.0]))
    2.0
    """
    P = len(delta)
    return float(0.5 * sum(delta[p] * F[p, q] * delta[q] for p in range(P) for q in range(P)))


def eq9(
    X: Float[Array, "N D"],
    outcomes: Callable[[Array], Iterable[tuple[Array | float, float]]],
    score: Callable[[Array | float, Array], Float[Array, " P"]],
) -> Float[Array, "P P"]:
    r"""Eq. (9): the Fisher information matrix from its definition.

    $F = E_{x,\,y\sim P(y|x)}\big[\frac{\partial\log P(y|x;\theta)}{\partial\theta}
    \frac{\partial\log P(y|x;\theta)}{\partial\theta}^\top\big]$. The outcomes y come from the model, not from
    data: no label takes part.

    Args:
        X: cases, (N, D).
        outcomes: of a case x, all pairs (y, P(y|x)); or nodes and weights of a quadrature over y.
        score: $\partial\log P(y|x;\theta)/\partial\theta$ of a pair (y, x), a vector of P numbers.

    A coin with P(y = 1) = 1/4 and log odds $\theta$: score y - 1/4, Fisher information 1/4 * 3/4.

    >>> eq9(np.zeros((1, 1)), lambda x: [(0.0, 0.75), (1.0, 0.25)], lambda y, x: np.array([y - 0.25]))
    array([[0.1875]])
    """
    N = len(X)
    terms = []
    for x in X:
        for y, probability in outcomes(x):
            s = score(y, x)
            terms.append(probability / N * np.outer(s, s))
    return np.array(sum(terms))


def eq10(
    y: float,
    a: float,
    b: float,
    phi: float,
    eta: Callable[[float], float],
    c: Callable[[float, float], float],
) -> float:
    r"""Eq. (10): the log likelihood of one output of a GLM.

    $\log P(y|x;w,b) = \frac{(a+b)y - \eta(a+b)}{\phi} + c(y,\phi)$.

    *Erratum* below Eq. (11) the paper calls $c$ the log partition function. $\eta$ is: it makes the
    probabilities sum to 1. $c$ is the logarithm of the base measure.

    An event with even odds has probability 1/2:

    >>> np.exp(eq10(1.0, 2.0, -2.0, 1.0, lambda z: np.log(1 + np.exp(z)), lambda y, phi: 0.0)).item()
    0.5
    """
    return ((a + b) * y - eta(a + b)) / phi + c(y, phi)


def eq11(
    a: float, b: float, phi: float, f: Callable[[float], float], f_prime: Callable[[float], float]
) -> tuple[float, float]:
    r"""Eq. (11): $E[y|x] = f(a+b)$ and $\mathrm{Var}[y|x] = \phi f'(a+b)$.

    *Condition* both hold if $f = \eta'$, the canonical link. The paper assumes it silently: with the probit
    as transfer function and 0/1 outcomes, the variance at a + b = 0 is 1/4 and not $f'(0) = 1/\sqrt{2\pi}$.

    Returns the pair (mean, variance).

    >>> eq11(1.0, -1.0, 2.0, np.exp, np.exp)  # counts in steps of 2 with mean 1
    (1.0, 2.0)
    """
    return float(f(a + b)), float(phi * f_prime(a + b))


def eq12(X: Float[Array, "N D"], cov: Float[Array, "N H H"], phi: float) -> Float[Array, "P P"]:
    r"""Eq. (12): the Fisher matrix of H GLMs without normalization, P = H (D + 1).

    $F = E_x\big[\frac{\mathrm{Cov}[y|x]}{\phi^2} \otimes
    \begin{bmatrix} xx^\top & x\\ x^\top & 1\end{bmatrix}\big]$.

    *Condition* the canonical link, as for Eq. (11): in probit regression the true matrix is $8/\pi = 2.55$
    times the printed one where a + b = 0.

    Args:
        X: cases, (N, D).
        cov: $\mathrm{Cov}[y|x]$ of each case, (N, H, H).

    >>> eq12(np.array([[1.0], [3.0]]), np.ones((2, 1, 1)), 1.0)
    array([[5., 2.],
           [2., 1.]])
    """
    N, H, _ = cov.shape
    D = X.shape[1]
    F = np.zeros((H * (D + 1), H * (D + 1)))
    for n in range(N):
        x = X[n][:, None]  # a column
        F += np.kron(cov[n] / phi**2, np.block([[x @ x.T, x], [x.T, 1.0]])) / N
    return F


def eq13(
    a: Float[Array, "N H"],
    mu: Float[Array, "#N #H"],
    sigma: Float[Array, "#N #H"],
    g: Float[Array, " H"],
    chi: Float[Array, "N H D"],
    cov: Float[Array, "N H H"],
    phi: float,
) -> Float[Array, "P P"]:
    r"""Eq. (13): the Fisher matrix of H normalized GLMs, as printed; P = H (D + 2).

    $$\bar F_{ij} = E_x\left[\frac{\mathrm{Cov}[y_i,y_j|x]}{\phi^2}\begin{bmatrix}
    \frac{g_ig_j}{\sigma_i\sigma_j}\chi_i\chi_j^\top & \chi_i\frac{g_i}{\sigma_i} &
    \chi_i\frac{g_i(a_j-\mu_j)}{\sigma_i\sigma_j}\\
    \chi_j^\top\frac{g_j}{\sigma_j} & 1 & \frac{a_j-\mu_j}{\sigma_j}\\
    \chi_j^\top\frac{g_j(a_i-\mu_i)}{\sigma_i\sigma_j} & \frac{a_i-\mu_i}{\sigma_i} &
    \frac{(a_i-\mu_i)(a_j-\mu_j)}{\sigma_i\sigma_j}\end{bmatrix}\right]$$

    *Erratum* not "without loss of generality". The block lets $w_i$ move the output i alone. That is so under
    batch norm and weight norm. Layer norm's units share $\mu$ and $\sigma$, so $w_i$ moves every output,
    $\partial\bar a_k/\partial w_i = \frac{g_k}{\sigma}\big(\delta_{ki} - \frac1H(1+\hat a_i\hat a_k)\big)x$
    with $\hat a = (a-\mu)/\sigma$, and the print keeps k = i only. It therefore charges for $W \to \delta W$
    and $W \to W + 1\gamma^\top$, which by Eq. (6) change nothing.

    Args:
        a: summed inputs, (N, H).
        chi: of Eq. (14), (N, H, D).
        cov: $\mathrm{Cov}[y|x]$, (N, H, H).
        mu, sigma: layer norm (N, 1), batch norm and weight norm (1, H).

    >>> a, x, sigma = np.array([[-1.0], [1.0]]), np.array([[[1.0]], [[3.0]]]), np.full((1, 1), 0.5)
    >>> eq13(a, np.zeros((1, 1)), sigma, np.ones(1), x, np.ones((2, 1, 1)), 1.0)
    array([[20.,  4.,  4.],
           [ 4.,  1.,  0.],
           [ 4.,  0.,  4.]])
    """
    N, H, D = chi.shape
    mu, sigma = np.broadcast_to(mu, (N, H)), np.broadcast_to(sigma, (N, H))
    F = np.zeros((H, D + 2, H, D + 2))
    for n in range(N):
        for i in range(H):
            for j in range(H):
                chi_i, chi_j = chi[n, i][:, None], chi[n, j][:, None]  # columns
                s_i, s_j = sigma[n, i], sigma[n, j]
                d_i, d_j = a[n, i] - mu[n, i], a[n, j] - mu[n, j]
                ss = s_i * s_j
                block = [
                    [g[i] * g[j] / ss * chi_i @ chi_j.T, chi_i * g[i] / s_i, chi_i * g[i] * d_j / ss],
                    [chi_j.T * g[j] / s_j, 1.0, d_j / s_j],
                    [chi_j.T * g[j] * d_i / ss, d_i / s_i, d_i * d_j / ss],
                ]
                F[i, :, j, :] += cov[n, i, j] / phi**2 * np.block(block) / N
    return F.reshape(H * (D + 2), H * (D + 2))


def eq14(
    x: Float[Array, " D"],
    a: Float[Array, " H"],
    mu: Float[Array, " H"] | float,
    sigma: Float[Array, " H"] | float,
    dmu: Float[Array, "H D"],
    dsigma: Float[Array, "H D"],
) -> Float[Array, "H D"]:
    r"""Eq. (14): what the normalization leaves of a case x, one row a unit.

    $\chi_i = x - \frac{\partial\mu_i}{\partial w_i}
    - \frac{a_i-\mu_i}{\sigma_i}\frac{\partial\sigma_i}{\partial w_i}$, so that $\chi_i/\sigma_i$ is the
    derivative of $(a_i-\mu_i)/\sigma_i$ by $w_i$. `dmu` and `dsigma` are the derivatives of the scalars:
    :func:`eq14_batch`, :func:`eq14_weight` or :func:`eq14_layer`.

    Weight norm takes away what lies along $w_1$, here the first axis:

    >>> W, x = np.array([[2.0, 0.0]]), np.array([3.0, 1.0])
    >>> eq14(x, W @ x, 0.0, np.array([2.0]), *eq14_weight(W))
    array([[0., 1.]])
    """
    H = len(a)
    mu, sigma = np.broadcast_to(mu, H), np.broadcast_to(sigma, H)
    return np.array([x - dmu[i] - (a[i] - mu[i]) / sigma[i] * dsigma[i] for i in range(H)])


def eq14_batch(
    X: Float[Array, "N D"], a: Float[Array, "N H"]
) -> tuple[Float[Array, "H D"], Float[Array, "H D"]]:
    r"""Batch norm's derivatives for Eq. (14), the same for every case.

    $\frac{\partial\mu_i}{\partial w_i} = E[x]$, $\frac{\partial\sigma_i}{\partial w_i} =
    E\big[\frac{a_i-\mu_i}{\sigma_i}(x - E[x])\big]$.

    >>> eq14_batch(np.array([[1.0], [3.0]]), np.array([[2.0], [6.0]]))
    (array([[2.]]), array([[1.]]))
    """
    N, H = a.shape
    mu, sigma = eq2_statistics(a)
    mean_x = sum(X[n] for n in range(N)) / N
    dmu = np.array([mean_x for i in range(H)])
    dsigma = [sum((a[n, i] - mu[i]) / sigma[i] * (X[n] - mean_x) for n in range(N)) / N for i in range(H)]
    return dmu, np.array(dsigma)


def eq14_weight(W: Float[Array, "H D"]) -> tuple[Float[Array, "H D"], Float[Array, "H D"]]:
    r"""Weight norm's derivatives for Eq. (14): $0$ and $w_i/\|w_i\|_2$.

    >>> eq14_weight(np.array([[3.0, 4.0]]))
    (array([[0., 0.]]), array([[0.6, 0.8]]))
    """
    return np.zeros_like(W), np.array([w_i / np.sqrt(sum(w**2 for w in w_i)) for w_i in W])


def eq14_layer(
    x: Float[Array, " D"], a: Float[Array, " H"]
) -> tuple[Float[Array, "H D"], Float[Array, "H D"]]:
    r"""Layer norm's derivatives for Eq. (14), of one case: $\frac1H x$ and $\frac1H\frac{a_i-\mu}{\sigma}x$.

    Each $w_i$ moves the scalars that all units share by a share of 1/H, and Eq. (13) forgets the others.

    >>> eq14_layer(np.array([2.0]), np.array([1.0, 3.0]))
    (array([[1.],
           [1.]]), array([[-1.],
           [ 1.]]))
    """
    H = len(a)
    mu, sigma = eq3(a)
    return np.array([x / H for i in range(H)]), np.array([(a[i] - mu) / sigma * x / H for i in range(H)])
