r"""Rounding errors of a layer norm, against rational arithmetic.

Mean and variance of floats are rational numbers, and the result $(a - \mu)/\sqrt{\sigma^2 + \epsilon}$ is one
divided by a root. `moments` has the first as fractions; the root is taken to 60 digits, so that errors far
below those of float64 can be told.
"""

from decimal import Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

DIGITS = Context(prec=60, Emin=-9999, Emax=9999)


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
