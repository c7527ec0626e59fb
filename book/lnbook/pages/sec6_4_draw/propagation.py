r"""An LSTM that keeps the size of its state without measuring it: recurrent normalization propagation.

Laurent, Ballas, Vincent (2017), their Eqs. (5)-(15). Rows of the weights have length 1, and what the
non-linearities do to a standard normal number is divided out once and for all:

$$(i, f, g, o) = \gamma_x \frac{W_x}{\lVert W_{x,i}\rVert} x_t
+ \gamma_h \frac{W_h}{\lVert W_{h,i}\rVert} h_{t-1} + b, \quad
c_t = \sigma(f)\,c_{t-1} + \sigma(i)\tanh(g), \quad
h_t = \frac{\sigma(o)}{\sqrt{\mathrm{Var}\,h}}\tanh\frac{\gamma_c\,c_t}{\sqrt{\mathrm{Var}\,c}}.$$

Both variances are those of the first gains and stay fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from lnlib.linear import linear


def variances(gain_x: float, gain_h: float, gain_c: float) -> tuple[float, float]:
    r"""The variances of the cell and of the state that are divided out.

    With $s = \gamma_x + \gamma_h$, z standard normal, and the second moment $m = E[\sigma(sz)^2]$ of a gate,

    $$\mathrm{Var}\,c = \frac{m}{1-m}\,\mathrm{Var}[\tanh(sz)], \qquad
    \mathrm{Var}\,h = m\,\mathrm{Var}[\tanh(\gamma_c z)].$$

    *Source* Laurent and others (2017), their Eqs. (8)-(12): independent gates, and a cell that has settled.
    The sum s is theirs; an input and a state that are independent would give the root of the sum of squares.

    >>> tuple(round(v, 4) for v in variances(0.5, 0.5, 0.5))
    (0.1637, 0.0509)
    """
    s = gain_x + gain_h
    gate = _mean(lambda z: (1 / (1 + np.exp(-s * z))) ** 2)
    cell = gate / (1 - gate) * _mean(lambda z: np.tanh(s * z) ** 2)
    return cell, gate * _mean(lambda z: np.tanh(gain_c * z) ** 2)


@dataclass
class PropagationCell:
    """One layer for one pass: its weights are scaled once, before the first step.

    Rows are of any length, gates in torch's order, (i, f, g, o); `var_c` and `var_h` those of `variances`.
    """

    weight_ih: Float[Tensor, "G D"]
    weight_hh: Float[Tensor, "G H"]
    bias: Float[Tensor, " G"]
    gain_ih: Float[Tensor, " G"]
    gain_hh: Float[Tensor, " G"]
    gain_cell: Float[Tensor, " H"]
    var_c: float
    var_h: float

    def __post_init__(self) -> None:
        self.weight_ih = self.gain_ih.unsqueeze(1) * F.normalize(self.weight_ih)
        self.weight_hh = self.gain_hh.unsqueeze(1) * F.normalize(self.weight_hh)

    def inputs(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N G"]:
        """The input's side of the gates."""
        return linear(x, self.weight_ih, self.bias)

    def step(self, x: Float[Tensor, "N G"], state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """h and c after a step, from the input's side of the gates."""
        h, c = state
        i, f, g, o = (x + linear(h, self.weight_hh)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(self.gain_cell * c / self.var_c**0.5) / self.var_h**0.5, c


def _mean(f: Callable[[np.ndarray], np.ndarray]) -> float:
    """E[f(z)] for z standard normal: a sum on a fine grid, which for smooth f is exact."""
    z = np.linspace(-10, 10, 2001)
    weight = np.exp(-(z**2) / 2)
    return float((weight * f(z)).sum() / weight.sum())
