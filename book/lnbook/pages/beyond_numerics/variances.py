r"""Five ways to the variance of a case, each operation rounded to the case's own precision.

With $u$ the unit roundoff, $\kappa = |\mu|/\sigma$ and $n$ values, to first order in $u$ and up to factors
that depend on $n$ and on the order of the sums:

================  ==========================================  ==========================  ==================
way               formula                                     the variance is off by      the outputs by
================  ==========================================  ==========================  ==================
`one_pass`        $E[a^2] - E[a]^2$                           $u\kappa^2$                 $u\kappa^2$
`welford`         the update of a running mean                $u\kappa$                   $u\kappa$
`two_passes`      $E[(a - E[a])^2]$                           $u + (u\kappa)^2$           $u\kappa$
`shifted`         one pass over $a - a_1$                     $u\kappa_1^2$               $u\kappa_1^2$
`centred_twice`   two passes over $a - E[a]$                  $u$                         $u$
================  ==========================================  ==========================  ==================

relative to the variance and to $\sigma$. Here $\kappa_1$ is that of $a - a_1$, which is the normalized
$|\hat a_1|$: usually about 1, and never above $\sqrt{n-1}$.

*Source* Chan, Golub, LeVeque (1983) for the variances; the outputs and `centred_twice` are ours.

Errors are against rational arithmetic: mean and variance of floats are rational numbers, which `moments` has
as fractions, and the result $(a - \mu)/\sqrt{\sigma^2 + \epsilon}$ is one divided by a root, which is taken
to 60 digits, so that errors far below those of float64 can be told.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


class Centred(NamedTuple):
    """What a way makes of cases: the values less their mean, and their variance, as computed."""

    values: Float[Tensor, "*N H"]
    variance: Float[Tensor, "*N 1"]


Way = Callable[[Tensor], Centred]
DIGITS = Context(prec=60, Emin=-9999, Emax=9999)


def mean(x: Float[Tensor, "*N H"]) -> Float[Tensor, "*N 1"]:
    """The mean over the last axis by pairwise sums, every sum rounded to the precision of x.

    torch's own mean of half precision adds up in float32, so that it does not show what half precision does.
    The error of pairwise sums grows with the logarithm of the number of terms.
    """
    n = x.shape[-1]
    while (width := x.shape[-1]) > 1:
        half = width // 2
        x = torch.cat([x[..., :half] + x[..., half : 2 * half], x[..., 2 * half :]], -1)
    return x / n


def one_pass(x: Float[Tensor, "*N H"]) -> Centred:
    r"""$E[a^2] - E[a]^2$: the difference of two numbers that agree in their first $2\log_2\kappa$ bits.

    >>> one_pass(torch.tensor([4095.0, 4097.0])).variance  # its square has 25 bits, of which float32 keeps 24
    tensor([0.])
    """
    m = mean(x)
    return Centred(x - m, mean(x * x) - m * m)


def two_passes(x: Float[Tensor, "*N H"]) -> Centred:
    r"""The mean first, then $E[(a - \mu)^2]$."""
    d = x - mean(x)
    return Centred(d, mean(d * d))


def welford(x: Float[Tensor, "*N H"]) -> Centred:
    r"""Mean and sum of squares kept up to date, value by value: $m \leftarrow m + (a - m)/k$.

    *Source* Welford (1962).
    """
    m = torch.zeros_like(x[..., :1])
    squares = m
    for k, a in enumerate(x.split(1, -1), start=1):
        d = a - m
        m = m + d / k
        squares = squares + d * (a - m)
    return Centred(x - m, squares / x.shape[-1])


def shifted(x: Float[Tensor, "*N H"]) -> Centred:
    """One pass over the distances from the first value."""
    return one_pass(x - x[..., :1])


def centred_twice(x: Float[Tensor, "*N H"]) -> Centred:
    """Two passes over what the first, rounded mean leaves: `lnlib.layer_norm`'s own way."""
    return two_passes(x - mean(x))


WAYS: dict[str, Way] = {
    "one pass": one_pass,
    "Welford": welford,
    "two passes": two_passes,
    "shifted": shifted,
    "centered twice": centred_twice,
}


def layer_norm_by(x: Float[Tensor, "*N H"], way: Way, eps: float = 1e-5) -> Float[Tensor, "*N H"]:
    r"""Layer norm without gain and bias: $(a - \mu)/\sqrt{\sigma^2 + \epsilon}$ with one of the ways.

    *Source* Eq. (3), with the epsilon that programs add.

    >>> x = torch.tensor([4095.0, 4097.0])
    >>> layer_norm_by(x, two_passes, eps=0.0), layer_norm_by(x, one_pass, eps=0.0)
    (tensor([-1.,  1.]), tensor([-inf, inf]))
    """
    values, variance = way(x)
    return values / (variance + eps).sqrt()


class Moments(NamedTuple):
    """The exact mean of one case, its deviations from that, and their mean square."""

    mean: Fraction
    deviations: list[Fraction]
    variance: Fraction

    @property
    def tilt(self) -> float:
        r"""$|\mu|/\sigma$, which decides how hard a case is; infinite where all values are equal."""
        if not self.variance:
            return float("inf")
        return float(DIGITS.divide(_decimal(abs(self.mean)), DIGITS.sqrt(_decimal(self.variance))))


def moments(case: Float[Tensor, " H"]) -> Moments:
    """Mean, deviations and biased variance of finite floats of any precision, as fractions."""
    values = [Fraction(v) for v in case.double().tolist()]
    mean = sum(values, Fraction(0)) / len(values)
    deviations = [v - mean for v in values]
    return Moments(mean, deviations, sum((d * d for d in deviations), Fraction(0)) / len(values))


def variance_error(true: Moments, variance: float) -> float:
    """Distance of a computed variance from the true one, relative to it; NaN or infinity counts as infinite.

    Raises ZeroDivisionError where the true variance is 0.
    """
    if not np.isfinite(variance):
        return float("inf")
    return float(abs(Fraction(variance) - true.variance) / true.variance)


def output_error(true: Moments, output: Float[Tensor, " H"], eps: float = 0.0) -> float:
    """Largest distance of normalized values from the true ones; NaN or infinity counts as infinite."""
    values = output.double().tolist()
    if not np.isfinite(values).all():
        return float("inf")
    std = DIGITS.sqrt(_decimal(true.variance + Fraction(eps)))
    exact = [DIGITS.divide(_decimal(d), std) for d in true.deviations]
    return float(max(abs(DIGITS.subtract(Decimal(v), t)) for v, t in zip(values, exact, strict=True)))


def _decimal(v: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(v.numerator), Decimal(v.denominator))
