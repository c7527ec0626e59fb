r"""One step of each normalized recurrent cell, as its variant says (see :mod:`lnlib.rnn.variants`).

Names of the gates' parameters follow `torch.nn`: rows of `weight_ih` and `weight_hh` are the gates in torch's
order, (i, f, g, o) for an LSTM and (r, z, n) for a GRU. `bias_ih` and `bias_hh` are the biases that the two
normalizations add (the supplement's beta 2 and beta 1); its third bias b, being added to both, is their sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.norms.normalize import layer_norm, rms_norm
from lnlib.norms.standardize import widen
from lnlib.rnn.statistics import StepStatistics
from lnlib.rnn.variants import Variant

__all__ = ["CELLS", "Cell", "GRUCell", "LSTMCell", "RNNCell"]


HALF = torch.finfo(torch.float16).max
INNER = {"ih": "bias_inner", "hh": "bias_inner_hh"}

Normalize = Callable[[Tensor, Tensor | None, Tensor | None, float], Tensor]


def _rms(a: Tensor, gain: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """RMS norm plus a bias, in the input's dtype, to which it is rounded once."""
    if bias is None:
        return rms_norm(a, gain, eps)
    return (rms_norm(widen(a), gain, eps) + bias).to(a.dtype)


NORMALIZE: Mapping[str, Normalize] = {"layer": layer_norm, "rms": _rms}


@dataclass(frozen=True)
class Cell(ABC):
    """One layer and direction: its parameters by torch's names without suffix, its variant, its noise.

    Attributes:
        zoneout: how often h, and c, keep their old values; () for never.
        drop: how often an entry of the candidate is dropped.
        training: draw masks; otherwise zoneout takes their mean.
        statistics: batch norm's; None for norms that look at one sequence at a time.
    """

    p: Mapping[str, Tensor]
    variant: Variant
    norm: str
    eps: float
    zoneout: tuple[float, ...] = ()
    drop: float = 0.0
    training: bool = False
    statistics: StepStatistics | None = None

    gates: ClassVar[int] = 1
    together: ClassVar[tuple[int, ...]] = (1,)  # gates that share their statistics in the paper

    def inputs(self, x: Float[Tensor, "M D"], t: int = 0) -> Float[Tensor, "M G"]:
        """The input's side of the gates: of all steps at once, but of step t alone with batch norm."""
        return self.project("ih", x, t)

    def inputs_by_step(self, x: Float[Tensor, "M D"], sizes: Sequence[int], first: int) -> Sequence[Tensor]:
        """The same of the steps `first`, `first` + 1, ..., at which so many sequences run: (n, G) each."""
        if self.statistics is None or self.variant.gates != "separate":
            return self.inputs(x).split(sizes)
        a, bias = self._product("ih", x), self.bias("bias_ih")
        parts = enumerate(a.split(sizes), first)
        return [self.normalize("ih", part, bias, self.together, t) for t, part in parts]

    def recurrent(self, h: Float[Tensor, "N R"], t: int = 0) -> Float[Tensor, "N G"]:
        """The state's side of the gates."""
        return self.project("hh", h, t)

    def project(self, side: str, x: Float[Tensor, "M _"], t: int) -> Float[Tensor, "M G"]:
        """One side, "ih" or "hh", before the two are added; a hook for those who compute it otherwise."""
        a, bias = self._product(side, x), self.bias(f"bias_{side}")
        if self.variant.gates == "separate":
            return self.normalize(side, a, bias, self.together, t)
        return a + bias.to(a.dtype) if self.variant.gates == "none" and bias is not None else a

    def step(self, x: Float[Tensor, "N G"], state: tuple[Tensor, ...], t: int = 0) -> tuple[Tensor, ...]:
        """The state after step t, counted from 0; its first tensor is the output."""
        new = self.update(x, state, t)
        return tuple(map(self._zone_out, self.zoneout, new, state)) if self.zoneout else new

    @abstractmethod
    def update(self, x: Float[Tensor, "N G"], state: tuple[Tensor, ...], t: int) -> tuple[Tensor, ...]:
        """The state that the cell's equations give."""

    def candidate(self, a: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        """What a gated network offers to its memory."""
        offered = torch.tanh(a)
        return torch.dropout(offered, self.drop, True) if self.drop else offered

    def joint(
        self, a: Float[Tensor, "N G"], t: int, gates: Sequence[int] = (), rows: slice = slice(None)
    ) -> Float[Tensor, "N G"]:
        """The sum of both sides, normalized where the variant says so; `rows` of all the gates."""
        if self.variant.gates != "joint":
            return a
        return self.normalize("ih", a, self.bias("bias_ih", "bias_hh"), gates or self.together, t, rows)

    def bias(self, *names: str) -> Tensor | None:
        """The sum of the biases of these names that the layer has."""
        found = [self.p[name] for name in names if name in self.p]
        return sum(found[1:], found[0]) if found else None

    def normalize(
        self,
        side: str,
        a: Float[Tensor, "N G"],
        bias: Tensor | None,
        gates: Sequence[int],
        t: int,
        rows: slice = slice(None),
    ) -> Float[Tensor, "N G"]:
        """Normalize so many gates at a time, or each by itself if that is the variant.

        The gain is that of a `side`, "ih", "hh" or "cell"; of it and of the bias these `rows` belong to `a`.
        """
        gain, bias = self.p[f"gain_{side}"][rows], None if bias is None else bias[rows]
        if a.dtype == torch.float16:  # what overflowed counts as the largest number, so that a mean exists
            a = a.clamp(-HALF, HALF)
        if self.statistics is not None:
            unbiased = self.variant.unbiased
            return self.statistics.normalize(side, t, a, gain, bias, self.eps, unbiased, rows.start or 0)
        each = a.shape[-1] // sum(gates)
        sizes = [each] * sum(gates) if self.variant.per_gate else [each * k for k in gates]
        if len(sizes) == 1:
            return self.standardize(a, gain, bias)
        biases = [None] * len(sizes) if bias is None else bias.split(sizes)
        parts = zip(a.split(sizes, -1), gain.split(sizes), biases, strict=True)
        return torch.cat([self.standardize(part, g, b) for part, g, b in parts], -1)

    def standardize(
        self, a: Float[Tensor, "N G"], gain: Float[Tensor, " G"], bias: Float[Tensor, " G"] | None
    ) -> Float[Tensor, "N G"]:
        """Normalize all columns together. Raises ValueError for the unbiased variance of one."""
        eps, n = self.eps, a.shape[-1]
        if self.variant.unbiased:
            if n == 1:
                raise ValueError("the unbiased variance of 1 unit divides by 0; give 2 units or more")
            # d / sqrt(var n / (n - 1) + eps) = s d / sqrt(var + s^2 eps)  with  s^2 = (n - 1) / n
            gain, eps = gain * sqrt((n - 1) / n), eps * (n - 1) / n
        return NORMALIZE[self.norm](a, gain, bias, eps)

    def _product(self, side: str, x: Tensor) -> Tensor:
        a, inner = nn.functional.linear(x, self.p[f"weight_{side}"]), INNER[side]
        return a + self.p[inner].to(a.dtype) if inner in self.p else a

    def _zone_out(self, rate: float, new: Tensor, old: Tensor) -> Tensor:
        """The old values where a coin says so, or their expected share."""
        if not self.training:
            return rate * old + (1 - rate) * new
        return torch.where(torch.empty_like(old, dtype=torch.bool).bernoulli_(rate), old, new)


class RNNCell(Cell):
    r"""$h_t = f(W_{hh}h_{t-1} + W_{xh}x_t + b)$, the summed inputs normalized as in Eq. (4)."""

    relu = False

    def update(self, x: Tensor, state: tuple[Tensor, ...], t: int) -> tuple[Tensor, ...]:
        a = self.joint(x + self.recurrent(state[0], t), t)
        return (torch.relu(a) if self.relu else torch.tanh(a),)


class ReLUCell(RNNCell):
    """The same with a rectifier for f."""

    relu = True


class LSTMCell(Cell):
    r"""Eqs. (17)-(19), normalized as in Eqs. (20)-(22), (29)-(31) or another variant."""

    gates = 4
    together = (4,)

    def update(self, x: Tensor, state: tuple[Tensor, ...], t: int) -> tuple[Tensor, ...]:
        h, c = state
        i, f, g, o = self.joint(x + self.recurrent(h, t), t).split([c.shape[-1]] * 4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * self.candidate(g)
        shown = carried = c
        if self.variant.cell != "raw":
            normalized = self.normalize("cell", c, self.bias("bias_cell"), (1,), t)
            shown = c if self.variant.cell == "next" else normalized
            carried = c if self.variant.cell == "output" else normalized
        h = torch.sigmoid(o) * torch.tanh(shown)
        if "weight_hr" in self.p:
            h = nn.functional.linear(h, self.p["weight_hr"])
        return h, carried


class GRUCell(Cell):
    r"""torch's gated unit, or Eqs. (23)-(25), normalized as in Eqs. (26)-(28).

    $\hat h = \tanh(Wx + \sigma(r)\odot Uh)$. The paper's update gate lets the candidate in,
    $h' = (1-\sigma(z))h + \sigma(z)\hat h$; torch's keeps the old state.
    """

    gates = 3
    together = (2, 1)

    def update(self, x: Tensor, state: tuple[Tensor, ...], t: int) -> tuple[Tensor, ...]:
        (h,) = state
        u, H = self.recurrent(h, t), h.shape[-1]
        (x_rz, x_n), (u_rz, u_n) = (side.split([2 * H, H], -1) for side in (x, u))
        r, z = torch.sigmoid(self.joint(x_rz + u_rz, t, (2,), slice(0, 2 * H))).split([H, H], -1)
        n = self.candidate(self.joint(x_n + r * u_n, t, (1,), slice(2 * H, 3 * H)))
        return (h + z * (n - h),) if self.variant.keeps == "new" else (n + z * (h - n),)


CELLS: Mapping[str, type[Cell]] = {
    "RNN_TANH": RNNCell,
    "RNN_RELU": ReLUCell,
    "LSTM": LSTMCell,
    "GRU": GRUCell,
}
