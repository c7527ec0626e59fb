"""Gain and bias: one case through layer norm, and what the parameters of the units give back."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lnbook.explore.element import Element, two_decimals
from lnlib.norms.normalize import layer_norm


def gain_and_bias(a: ArrayLike | Tensor | None = None, *, seed: int = 0) -> Element:
    r"""Let a reader choose gains and biases, and see what they give back of a normalized case.

    Three rows of bars: the summed inputs $a$, the standardized $\hat a = (a - \mu)/\sigma$, and the output
    $g_i \hat a_i + b_i$. The reader sets each gain and bias, or all alike; a gain of $\sigma$ and a bias
    of $\mu$ give the case back. Then the reader multiplies and shifts the case: the output does not follow.

    *Source* Section 3, Eqs. (3) and (5); the figure is ours.

    Args:
        a: summed inputs of one case, finite, 2 to 6 units. Where left out, four whole numbers drawn from
            `seed` whose mean and standard deviation are whole numbers too.
        seed: of the drawn case.

    >>> gain_and_bias([1.0, 3.0, 9.0, 19.0])
    <interactive figure: Gain and bias>
    """
    case = torch.as_tensor(_draw(seed) if a is None else a, dtype=torch.float64).detach()
    mean, std = case.mean(), case.std(correction=0)
    gain, bias = std.expand(len(case)), mean.expand(len(case))
    given = f"gain {two_decimals(float(std))}, bias {two_decimals(float(mean))}"
    lines = {
        "a": case,
        "standardized": layer_norm(case, eps=0.0),
        f"with {given}": layer_norm(case, gain, bias, eps=0.0),
        "a, twice as loud": 2 * case,
        f"that one, standardized, with {given}": layer_norm(2 * case, gain, bias, eps=0.0),
    }
    caption = (
        "One case through layer norm. With its std as gain and its mean as bias it comes back. Twice as "
        "loud, it gives the same output: its scale is lost."
    )
    head = ["", *(f"unit {k}" for k in range(1, len(case) + 1))]
    rows = [[name, *map(two_decimals, values.tolist())] for name, values in lines.items()]
    return Element("gain_and_bias", {"a": case.tolist()}, caption, head, rows)


def _draw(seed: int) -> np.ndarray:
    """Four different whole numbers whose mean and standard deviation, 2 or more, are whole numbers."""
    rng = np.random.default_rng(seed)
    while True:
        a = rng.choice(np.arange(-9, 20), 4, replace=False)
        square, rest = divmod(int(4 * (a**2).sum() - a.sum() ** 2), 16)
        if a.sum() % 4 == 0 and rest == 0 and square >= 4 and math.isqrt(square) ** 2 == square:
            return a
