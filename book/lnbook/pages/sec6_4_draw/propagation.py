r"""An LSTM that keeps the size of its state without measuring it: recurrent normalization propagation.

Laurent, Ballas, Vincent (2017), their Eqs. (5)-(15). Rows of the weights have length 1, and what the
non-linearities do to a standard normal number is divided out once and for all:

$$(i, f, g, o) = \gamma_x \frac{W_x}{\lVert W_{x,i}\rVert} x_t
+ \gamma_h \frac{W_h}{\lVert W_{h,i}\rVert} h_{t-1} + b, \quad
c_t = \sigma(f)\,c_{t-1} + \sigma(i)\tanh(g), \quad
h_t = \frac{\sigma(o)}{\sqrt{\mathrm{Var}\,h}}\tanh\frac{\gamma_c\,c_t}{\sqrt{\mathrm{Var}\,c}}.$$

Both variances are those of the first gains and stay fixed.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from lnlib.linear import linear

GAIN = 0.5  # of all three in DRAW: Laurent and others (2017), their Section 5.2


def variances(gain: float) -> tuple[float, float]:
    r"""The variances of the cell and of the state that are divided out, all gains being equal.

    With $s = \gamma_x + \gamma_h$, z standard normal, and the second moment $m = E[\sigma(sz)^2]$ of a gate,

    $$\mathrm{Var}\,c = \frac{m}{1-m}\,\mathrm{Var}[\tanh(sz)], \qquad
    \mathrm{Var}\,h = m\,\mathrm{Var}[\tanh(\gamma_c z)].$$

    *Source* Laurent and others (2017), their Eqs. (8)-(12): independent gates, and a cell that has settled.
    The sum s is theirs; an input and a state that are independent would give the root of the sum of squares.

    >>> tuple(round(v, 4) for v in variances(0.5))
    (0.1637, 0.0509)
    """
    z = np.linspace(-10, 10, 2001)  # a mean on a fine grid is exact for smooth functions
    mean = partial(np.average, weights=np.exp(-(z**2) / 2))
    gate = mean((1 / (1 + np.exp(-2 * gain * z))) ** 2)
    cell = gate / (1 - gate) * mean(np.tanh(2 * gain * z) ** 2)
    return float(cell), float(gate * mean(np.tanh(gain * z) ** 2))


VARIANCES = variances(GAIN)


class PropagationCell:
    """One layer for one pass: its weights are scaled once, before the first step; gates in torch's order."""

    def __init__(self, p: Mapping[str, Tensor]) -> None:
        self.bias, self.gain = p["bias_ih"], p["gain_cell"]
        self.weight_ih, self.weight_hh = (
            p[f"gain_{side}"].unsqueeze(1) * F.normalize(p[f"weight_{side}"]) for side in ("ih", "hh")
        )

    def inputs(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N G"]:
        """The input's side of the gates."""
        return linear(x, self.weight_ih, self.bias)

    def step(self, x: Float[Tensor, "N G"], state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """h and c after a step, from the input's side of the gates."""
        (h, c), (var_c, var_h) = state, VARIANCES
        i, f, g, o = (x + linear(h, self.weight_hh)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(self.gain * c / var_c**0.5) / var_h**0.5, c
