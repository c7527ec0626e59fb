"""Gain and bias: one case through layer norm, and what the parameters of the units give back."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lnbook.explore.element import Element, two_decimals
from lnlib.norms.normalize import layer_norm


def gain_and_bias(a: ArrayLike | Tensor | None = None, *, seed: int = 0) -> Element:
    r"""Three rows of bars: one case $a$, $\hat a = (a - \mu)/\sigma$, and the output $g_i \hat a_i + b_i$.

    A gain of $\sigma$ and a bias of $\mu$ give the case back; the output does not follow a multiple of it. An
    `a` has 2 to 6 units; else `seed` draws four whole numbers of whole mean and standard deviation.

    *Source* Section 3, Eqs. (3) and (5); the figure is ours.
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
        if a.mean().is_integer() and a.std().is_integer() and a.std() >= 2:
            return a
