"""Normalization in exact rational arithmetic: what every floating-point result is held against.

Sums, means and variances are exact fractions of the given floats; the one square root has 60 digits.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

DIGITS = Context(prec=60, Emin=-9999, Emax=9999)


def standardized(values: Sequence[float], eps: float = 0.0, centre: bool = True) -> list[float]:
    """(a - mean) / sqrt(var + eps), rounded once at the end; 0 where that is 0 / 0."""
    d, std = _deviations(values, eps, centre)
    return [float(DIGITS.divide(_decimal(v), std)) if std else 0.0 for v in d]


def layer_norm_gradient(values: Sequence[float], upstream: Sequence[float], eps: float = 0.0) -> list[float]:
    """(u - mean(u) - ahat mean(u ahat)) / std for upstream gradient u."""
    d, std = _deviations(values, eps, centre=True)
    u = [Fraction(v) for v in upstream]
    H, power = len(u), _power(d) + Fraction(eps)
    mean_u, mean_ud = sum(u) / H, sum(x * y for x, y in zip(u, d, strict=True)) / H
    # ahat mean(u ahat) = d mean(u d) / std**2, and std**2 is rational
    inner = [x - mean_u - y * mean_ud / power for x, y in zip(u, d, strict=True)]
    return [float(DIGITS.divide(_decimal(v), std)) for v in inner]


def _deviations(values: Sequence[float], eps: float, centre: bool) -> tuple[list[Fraction], Decimal]:
    a = [Fraction(v) for v in values]
    mean = sum(a) / len(a) if centre else Fraction(0)
    d = [v - mean for v in a]
    return d, DIGITS.sqrt(_decimal(_power(d) + Fraction(eps)))


def _power(d: Sequence[Fraction]) -> Fraction:
    return sum((v * v for v in d), Fraction(0)) / len(d)


def _decimal(v: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(v.numerator), Decimal(v.denominator))
