"""Scikit-learn's digits as cases for small networks: centered, of unit size, in float32."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from lnbook import data

Cases = tuple[Float[Tensor, "N D"], Int64[Tensor, " N"]]


def digits() -> tuple[Cases, tuple[Float[Tensor, "M D"], Int64[Tensor, " M"]]]:
    """Training and test digits, pixels less their mean, over the standard deviation of all, float32.

    >>> (x, y), (x_test, y_test) = digits()
    >>> float(x.mean(0).abs().max()) < 1e-5, round(float(x.square().mean()), 4)
    (True, 1.0)
    """
    parts = data.load("digits")
    (x, y), (x_test, y_test) = (map(torch.from_numpy, parts.flat(part)) for part in ("train", "test"))
    mean, deviation = x.mean(0), (x - x.mean(0)).square().mean().sqrt()
    return ((x - mean) / deviation, y), ((x_test - mean) / deviation, y_test)
