r"""Recurrent layers: Eq. (4), and the supplement's cells, Eqs. (17)-(31), one step of one case each.

Gates stand below each other as printed: f, i, o, g of an LSTM and z, r of a GRU, with H rows of the weights
each, G in all. An equation that the supplement prints again under another number is the same function here.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from lnlib.equations.normalization import Array, eq15

__all__ = [
    "eq4",
    "eq17",
    "eq18",
    "eq19",
    "eq20",
    "eq21",
    "eq22",
    "eq23",
    "eq24",
    "eq25",
    "eq26",
    "eq27",
    "eq28",
    "eq29",
    "eq30",
    "eq31",
]

Gates4 = tuple[Float[Array, " H"], Float[Array, " H"], Float[Array, " H"], Float[Array, " H"]]


def eq4(
    W_hh: Float[Array, "H H"],
    W_xh: Float[Array, "H D"],
    h: Float[Array, " H"],
    x: Float[Array, " D"],
    g: Float[Array, " H"],
    b: Float[Array, " H"],
    f: Callable[[float], float],
) -> tuple[Float[Array, " H"], float, float]:
    r"""Eq. (4): one step of a layer-normalized recurrent layer.

    $h^t = f[\frac{g}{\sigma^t}\odot(a^t-\mu^t)+b]$ with the summed inputs $a^t = W_{hh}h^{t-1}+W_{xh}x^t$ of
    the sentence above it, and $\mu^t$, $\sigma^t$ their mean and biased standard deviation.

    Returns the triple (h, mu, sigma) at time t.

    >>> W, one, zero = np.array([[1.0], [3.0]]), np.ones(2), np.zeros(2)
    >>> eq4(np.eye(2), W, zero, np.array([2.0]), one, zero, lambda a: a)
    (array([-1.,  1.]), 4.0, 2.0)
    """
    H, a = len(h), W_hh @ h + W_xh @ x
    mu = sum(a[i] for i in range(H)) / H
    sigma = np.sqrt(sum((a[i] - mu) ** 2 for i in range(H)) / H)
    return np.array([f(g[i] / sigma * (a[i] - mu) + b[i]) for i in range(H)]), float(mu), float(sigma)


def eq17(
    W_h: Float[Array, "G H"],
    W_x: Float[Array, "G D"],
    b: Float[Array, " G"],
    h: Float[Array, " H"],
    x: Float[Array, " D"],
) -> Gates4:
    r"""Eq. (17): summed inputs of an LSTM's gates, $(f_t, i_t, o_t, g_t) = W_h h_{t-1} + W_x x_t + b$.

    Returns f, i, o, g, each before its non-linearity.

    >>> W_x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> eq17(np.zeros((4, 1)), W_x, np.ones(4), np.zeros(1), np.array([10.0]))
    (array([11.]), array([21.]), array([31.]), array([41.]))
    """
    f, i, o, g = np.split(W_h @ h + W_x @ x + b, 4)
    return f, i, o, g


def eq18(
    f: Float[Array, " H"], i: Float[Array, " H"], g: Float[Array, " H"], c: Float[Array, " H"]
) -> Float[Array, " H"]:
    r"""Eq. (18), again as (21) and (30): $c_t = \sigma(f_t)\odot c_{t-1} + \sigma(i_t)\odot\tanh(g_t)$.

    Here $\sigma$ is the logistic function; in Eqs. (4) and (15) it is a standard deviation.

    >>> eq18(np.zeros(1), np.zeros(1), np.zeros(1), np.array([4.0]))
    array([2.])
    """
    return _logistic(f) * c + _logistic(i) * np.tanh(g)


def eq19(o: Float[Array, " H"], c: Float[Array, " H"]) -> Float[Array, " H"]:
    r"""Eq. (19): output of an LSTM, $h_t = \sigma(o_t)\odot\tanh(c_t)$.

    >>> eq19(np.zeros(1), np.array([100.0]))
    array([0.5])
    """
    return _logistic(o) * np.tanh(c)


def eq20(
    W_h: Float[Array, "G H"],
    W_x: Float[Array, "G D"],
    b: Float[Array, " G"],
    h: Float[Array, " H"],
    x: Float[Array, " D"],
    alpha_1: Float[Array, " G"],
    beta_1: Float[Array, " G"],
    alpha_2: Float[Array, " G"],
    beta_2: Float[Array, " G"],
) -> Gates4:
    r"""Eq. (20): $(f_t,i_t,o_t,g_t) = LN(W_h h_{t-1};\alpha_1,\beta_1) + LN(W_x x_t;\alpha_2,\beta_2) + b$.

    *Erratum* the letters of gain and bias are exchanged below Eq. (22): see :func:`eq15`. It has no epsilon,
    so a state of zeros, where every sequence begins, gives 0/0: NaN.

    >>> W_h, W_x, zero, one = np.eye(4)[:, :1], np.arange(4.0)[:, None], np.zeros(4), np.ones(4)
    >>> gates = eq20(W_h, W_x, zero, np.ones(1), np.ones(1), zero, one, zero, one)
    >>> np.stack(gates).T  # alpha 0 and beta 1: two betas, whatever h and x are
    array([[2., 2., 2., 2.]])
    """
    f, i, o, g = np.split(eq15(W_h @ h, alpha_1, beta_1) + eq15(W_x @ x, alpha_2, beta_2) + b, 4)
    return f, i, o, g


def eq22(
    o: Float[Array, " H"],
    c: Float[Array, " H"],
    alpha_3: Float[Array, " H"],
    beta_3: Float[Array, " H"],
) -> Float[Array, " H"]:
    r"""Eq. (22), again as (31): $h_t = \sigma(o_t)\odot\tanh(LN(c_t;\alpha_3,\beta_3))$.

    The cell that goes on to the next step is $c_t$ itself, not its normalized copy.

    *Erratum* for DRAW the print says that layer norm is applied to "the output of the LSTM hidden states";
    Eq. (31) applies it to the cell.

    >>> eq22(np.array([100.0, 100.0]), np.array([1.0, 3.0]), np.ones(2), np.zeros(2)).round(4)
    array([-0.7616,  0.7616])
    """
    return _logistic(o) * np.tanh(eq15(c, alpha_3, beta_3))


def eq23(
    W_h: Float[Array, "G H"], W_x: Float[Array, "G D"], h: Float[Array, " H"], x: Float[Array, " D"]
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    r"""Eq. (23): summed inputs of a GRU's gates, $(z_t, r_t) = W_h h_{t-1} + W_x x_t$; no bias in print.

    >>> eq23(np.eye(2)[:, :1], np.ones((2, 1)), np.array([5.0]), np.array([1.0]))
    (array([6.]), array([1.]))
    """
    z, r = np.split(W_h @ h + W_x @ x, 2)
    return z, r


def eq24(
    W: Float[Array, "H D"],
    U: Float[Array, "H H"],
    r: Float[Array, " H"],
    h: Float[Array, " H"],
    x: Float[Array, " D"],
) -> Float[Array, " H"]:
    r"""Eq. (24): a GRU's candidate, $\hat h_t = \tanh(Wx_t + \sigma(r_t)\odot(Uh_{t-1}))$.

    >>> eq24(np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), np.array([4.0]), np.array([-2.0]))
    array([0.])
    """
    return np.tanh(W @ x + _logistic(r) * (U @ h))


def eq25(z: Float[Array, " H"], h: Float[Array, " H"], h_hat: Float[Array, " H"]) -> Float[Array, " H"]:
    r"""Eq. (25), again as (28): $h_t = (1-\sigma(z_t))h_{t-1} + \sigma(z_t)\hat h_t$.

    An open update gate lets the candidate in. In torch, cuDNN and Keras it keeps the old state: their z is
    the print's -z.

    >>> eq25(np.array([100.0]), np.array([7.0]), np.array([1.0]))
    array([1.])
    """
    return (1 - _logistic(z)) * h + _logistic(z) * h_hat


def eq26(
    W_h: Float[Array, "G H"],
    W_x: Float[Array, "G D"],
    h: Float[Array, " H"],
    x: Float[Array, " D"],
    alpha_1: Float[Array, " G"],
    beta_1: Float[Array, " G"],
    alpha_2: Float[Array, " G"],
    beta_2: Float[Array, " G"],
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    r"""Eq. (26): $(z_t, r_t) = LN(W_h h_{t-1};\alpha_1,\beta_1) + LN(W_x x_t;\alpha_2,\beta_2)$.

    *Erratum* as for :func:`eq20`.

    >>> W, one, zero = np.array([[1.0], [3.0]]), np.ones(2), np.zeros(2)
    >>> eq26(W, -W, np.array([5.0]), np.array([2.0]), one, one, one, zero)
    (array([1.]), array([1.]))
    """
    z, r = np.split(eq15(W_h @ h, alpha_1, beta_1) + eq15(W_x @ x, alpha_2, beta_2), 2)
    return z, r


def eq27(
    W: Float[Array, "H D"],
    U: Float[Array, "H H"],
    r: Float[Array, " H"],
    h: Float[Array, " H"],
    x: Float[Array, " D"],
    alpha_3: Float[Array, " H"],
    beta_3: Float[Array, " H"],
    alpha_4: Float[Array, " H"],
    beta_4: Float[Array, " H"],
) -> Float[Array, " H"]:
    r"""Eq. (27): a layer-normalized GRU's candidate.

    $\hat h_t = \tanh(LN(Wx_t;\alpha_3,\beta_3) + \sigma(r_t)\odot LN(Uh_{t-1};\alpha_4,\beta_4))$.

    *Erratum* as for :func:`eq20`.

    >>> one, zero = np.ones(2), np.zeros(2)
    >>> eq27(np.eye(2), np.eye(2), zero, np.array([1.0, 3.0]), np.array([5.0, 4.0]), zero, zero, one, zero)
    array([-0.46211716,  0.46211716])
    """
    return np.tanh(eq15(W @ x, alpha_3, beta_3) + _logistic(r) * eq15(U @ h, alpha_4, beta_4))


# The supplement prints these once more, for the layer-normalized cells and for DRAW.
eq21 = eq30 = eq18
eq28 = eq25
eq29 = eq17
eq31 = eq22


def _logistic(a: Float[Array, " H"]) -> Float[Array, " H"]:
    return 1 / (1 + np.exp(-a))
