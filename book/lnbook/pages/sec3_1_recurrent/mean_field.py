r"""Mean-field theory of a recurrence with random weights: what its summed inputs and its exponents become.

$h^t = f(a^t)$ without a normalization and $h^t = f(g\,\bar a^t + b)$ with layer norm, where
$a^t = W h^{t-1} + x^t$, $W_{ij}\sim N(0, s^2/H)$ and $H\to\infty$. Every summed input is then a Gaussian
variable z times its standard deviation, and all that is left to compute are averages over z.

f is an elementwise function of a float64 tensor; its derivative is autograd's.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

Function = Callable[[Tensor], Tensor]

# Midpoints of equal steps: no node at 0, where a rectifier has its kink. At large g the poles of f(gz) come
# near the real axis. There Gauss-Hermite quadrature fails first: 256 of its nodes miss E[f'(10z)^2] by 45 %.
_STEP = 2.0**-8
_NODES = _STEP * (torch.arange(-20 / _STEP, 20 / _STEP, dtype=torch.float64) + 0.5)
_WEIGHTS = torch.exp(-_NODES.square() / 2) * _STEP / math.sqrt(2 * math.pi)


def gaussian_mean(f: Function) -> float:
    r"""Expectation over a standard normal variable.

    $E f(z) = \int f(z)\,e^{-z^2/2}\,dz/\sqrt{2\pi}$.

    By the trapezoidal rule, whose error falls exponentially with the nodes if f is analytic.
    """
    return float(_WEIGHTS @ f(_NODES))


def slope(f: Function, u: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The derivative of an elementwise function, by autograd."""
    with torch.enable_grad():
        u = u.detach().requires_grad_()
        return torch.autograd.grad(f(u).sum(), u)[0]


def exponent(f: Function, gain: float, *, bias: float = 0.0, share: float = 1.0) -> float:
    r"""Largest Lyapunov exponent of a layer-normalized recurrence, in nats per step.

    $\lambda = \frac12\log\frac{r\,g^2\,E[f'(gz+b)^2]}{E[f(gz+b)^2]}$, whatever the scale of the weights.

    It is positive if neighboring states part. r is `share`, the part of the summed inputs' variance that
    comes from the state; inputs give the rest.

    >>> round(exponent(torch.tanh, 1.0), 4)
    0.0818
    """
    grown = gain**2 * gaussian_mean(lambda z: slope(f, gain * z + bias).square())
    return 0.5 * math.log(share * grown / _mean_square(f, gain, bias))


def critical_share(f: Function, gain: float) -> float:
    r"""The largest share of the state in the summed inputs at which neighboring states do not part.

    $r^* = \min(1, e^{-2\lambda})$ with $\lambda$ at r = 1.
    """
    return min(1.0, math.exp(-2 * exponent(f, gain)))


def strength(f: Function, gain: float, share: float) -> float:
    r"""How strong inputs must be for the state to keep a given share of the summed inputs' variance.

    $x = \sqrt{E[f(gz)^2]\,(1/r - 1)}$, in units in which the weights' scale s is 1.
    """
    return math.sqrt(_mean_square(f, gain) * (1 / share - 1))


def plain_variance(f: Function, scale: float) -> float:
    r"""Variance of the summed inputs of a recurrence without normalization or inputs, once it has settled.

    The fixed point of $v \leftarrow s^2\,E[f(\sqrt v z)^2]$, reached from $v = s^2$. f is bounded; v is 0 if
    the network falls silent.

    *Source* after Sompolinsky and others (1988).
    """
    v = scale**2
    for _ in range(2000):
        new = scale**2 * _mean_square(f, math.sqrt(v))
        if abs(new - v) <= 1e-13 * new or new < 1e-30:
            return new if new >= 1e-30 else 0.0
        v = new
    return v


def plain_exponent(f: Function, scale: float) -> float:
    r"""Largest Lyapunov exponent of a recurrence without normalization or inputs.

    $\lambda = \frac12\log\big(s^2\,E[f'(\sqrt v z)^2]\big)$ with v of :func:`plain_variance`.

    *Source* Sompolinsky and others (1988), Molgedey and others (1992), in discrete time.
    """
    root = math.sqrt(plain_variance(f, scale))
    return 0.5 * math.log(scale**2 * gaussian_mean(lambda z: slope(f, root * z).square()))


def _mean_square(f: Function, gain: float, bias: float = 0.0) -> float:
    return gaussian_mean(lambda z: f(gain * z + bias).square())
