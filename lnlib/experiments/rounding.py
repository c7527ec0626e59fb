r"""Layer norm's rounding errors, against rational arithmetic.

The result $(a - \mu)/\sqrt{\sigma^2 + \epsilon}$ of float32 summed inputs is a root of a rational number.
`exact` computes mean and variance as fractions, so that what it returns is right to the last digits of
float64. `one_pass` and `two_passes` are the two textbook ways to a variance, in the dtype of their input.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["exact", "largest_error", "one_pass", "two_passes"]


def exact(case: Float[Tensor, " H"], eps: float = 1e-5) -> Float[np.ndarray, " H"]:
    """Layer norm of one case, from its rational mean and variance.

    >>> exact(torch.tensor([1.0, 3.0, 9.0, 19.0]), eps=0.0) * 7
    array([-7., -5.,  1., 11.])
    """
    values = [Fraction(v) for v in case.tolist()]
    mean = sum(values, Fraction(0)) / len(values)
    variance = sum(((v - mean) ** 2 for v in values), Fraction(0)) / len(values)
    return np.array([float(v - mean) for v in values]) / math.sqrt(variance + Fraction(eps))


def one_pass(case: Float[Tensor, " H"], eps: float = 1e-5) -> Float[Tensor, " H"]:
    r"""Variance as $E[a^2] - \mu^2$, clipped at 0: one pass, $(\mu/\sigma)^2$ roundings lost."""
    mean = case.mean()
    return (case - mean) * torch.rsqrt((case.square().mean() - mean.square()).clamp(min=0) + eps)


def two_passes(case: Float[Tensor, " H"], eps: float = 1e-5) -> Float[Tensor, " H"]:
    r"""Variance as $E[(a - \mu)^2]$: $|\mu|/\sigma$ roundings lost, those of the mean."""
    centred = case - case.mean()
    return centred * torch.rsqrt(centred.square().mean() + eps)


def largest_error(norm: Callable[[Tensor], Tensor], cases: Iterable[Float[Tensor, " H"]]) -> float:
    """Largest distance of `norm`'s outputs from `exact`, over all cases and units; NaN counts as infinite."""
    return max(float(np.nan_to_num(np.abs(norm(c).numpy() - exact(c)), nan=np.inf).max()) for c in cases)
