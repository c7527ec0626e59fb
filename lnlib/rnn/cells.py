r"""What each variant of a normalized recurrent cell computes: a table of data, and one step of each cell.

Names of the gates' parameters follow `torch.nn`: rows of `weight_ih` and `weight_hh` are the gates in torch's
order, (i, f, g, o) for an LSTM and (r, z, n) for a GRU. `bias_ih` and `bias_hh` are the biases that the two
normalizations add (the supplement's beta 2 and beta 1); its third bias b, being added to both, is their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.normalize import layer_norm, rms_norm

__all__ = ["VARIANTS", "Cell", "GRUCell", "LSTMCell", "RNNCell", "Variant", "variant_of"]


@dataclass(frozen=True)
class Variant:
    """Where one variant normalizes.

    Attributes:
        gates: "separate": the projections of input and state each; "joint": their sum; "none": neither.
        per_gate: statistics of each gate instead of all gates together.
        cell: of an LSTM: "raw" everywhere; "output": normalized on the way to h; "carried": into the next
            step too.
        keeps: what an open update gate of a GRU keeps: the "new" candidate as in Eq. (28), or the "old" state
            as torch.
        inner_bias: one more bias inside a normalization: of the "input"'s projection, of "both", or "" for
            none; with "joint" gates "input" means inside the normalization of the sum.
        unbiased: divide the squares by one less than their number.
        eps: the variant's own epsilon; None leaves it to the layer.
    """

    gates: str
    per_gate: bool = False
    cell: str = "raw"
    keeps: str = "old"
    inner_bias: str = ""
    unbiased: bool = False
    eps: float | None = None


# One row a variant, by kind of network. Sources: Eqs. (4), (20)-(22), (26)-(28), (29)-(31).
VARIANTS: Mapping[str, Mapping[str, Variant]] = {
    "RNN": {
        "paper": Variant("joint"),
        "joint": Variant("joint"),
        "separate": Variant("separate"),
    },
    "LSTM": {
        "paper": Variant("separate", cell="output"),
        "joint": Variant("joint", cell="output"),
        "draw": Variant("none", cell="output"),
        "released": Variant("separate", cell="output", inner_bias="input", eps=1e-5),
        "per_gate": Variant("joint", per_gate=True, cell="output"),
        "normalized_state": Variant("separate", cell="carried"),
    },
    "GRU": {
        "paper": Variant("separate", keeps="new"),
        "joint": Variant("joint", keeps="new"),
        "released": Variant("separate", inner_bias="input", eps=1e-5),
        "per_gate": Variant("separate", per_gate=True, keeps="new"),
    },
}

PLAIN = Variant("none")  # what torch.nn computes


def variant_of(kind: str, name: str | Variant, norm: str) -> Variant:
    """The row of that name, or the given one; without a norm, torch's. ValueError for an unknown name."""
    rows = VARIANTS[kind]
    if not isinstance(name, Variant) and name not in rows:
        raise ValueError(f"variant is {name!r}; a layer-normalized {kind} has {', '.join(rows)}")
    if norm in ("none", "weight"):
        return PLAIN
    return name if isinstance(name, Variant) else rows[name]


Normalize = Callable[[Tensor, Tensor | None, Tensor | None, float], Tensor]
NORMALIZE: Mapping[str, Normalize] = {
    "layer": layer_norm,
    "rms": lambda a, gain, bias, eps: rms_norm(a, gain, eps) + (0 if bias is None else bias),
}


@dataclass(frozen=True)
class Cell:
    """One layer and direction: its parameters by torch's names without suffix, and its variant."""

    p: Mapping[str, Tensor]
    variant: Variant
    norm: str
    eps: float

    gates: ClassVar[int] = 1
    together: ClassVar[tuple[int, ...]] = (1,)  # gates that share their statistics, unless each has its own

    def bias(self, *names: str) -> Tensor | None:
        """The sum of the biases of these names that the layer has."""
        found = [self.p[name] for name in names if name in self.p]
        return sum(found[1:], found[0]) if found else None

    def normalize(
        self,
        a: Float[Tensor, "N G"],
        gain: Float[Tensor, " G"],
        bias: Float[Tensor, " G"] | None,
        gates: Sequence[int],
    ) -> Float[Tensor, "N G"]:
        """Normalize so many gates at a time, or each by itself if that is the variant."""
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

    def inputs(self, x: Float[Tensor, "M D"]) -> Float[Tensor, "M G"]:
        """The input's side of the gates for all steps at once: it does not wait for the state."""
        a = x @ self.p["weight_ih"].mT
        if "bias_inner" in self.p:
            a = a + self.p["bias_inner"]
        if self.variant.gates == "separate":
            return self.normalize(a, self.p["gain_ih"], self.bias("bias_ih"), self.together)
        if self.variant.gates == "none" and "bias_ih" in self.p:
            return a + self.p["bias_ih"]
        return a

    def recurrent(self, h: Float[Tensor, "N R"]) -> Float[Tensor, "N G"]:
        """The state's side of the gates."""
        a = h @ self.p["weight_hh"].mT
        if "bias_inner_hh" in self.p:
            a = a + self.p["bias_inner_hh"]
        if self.variant.gates == "separate":
            return self.normalize(a, self.p["gain_hh"], self.bias("bias_hh"), self.together)
        if self.variant.gates == "none" and "bias_hh" in self.p:
            return a + self.p["bias_hh"]
        return a

    def step(self, x: Float[Tensor, "N G"], state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The next state; its first tensor is the output."""
        raise NotImplementedError


class RNNCell(Cell):
    r"""$h_t = f(W_{hh}h_{t-1} + W_{xh}x_t + b)$, the summed inputs normalized as in Eq. (4)."""

    relu = False

    def step(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        a = x + self.recurrent(state[0])
        if self.variant.gates == "joint":
            a = self.normalize(a, self.p["gain_ih"], self.bias("bias_ih", "bias_hh"), self.together)
        return (torch.relu(a) if self.relu else torch.tanh(a),)


class ReLUCell(RNNCell):
    """The same with a rectifier for f."""

    relu = True


class LSTMCell(Cell):
    r"""Eqs. (17)-(19), normalized as in Eqs. (20)-(22), (29)-(31) or another variant."""

    gates = 4
    together = (4,)

    def step(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        h, c = state
        a = x + self.recurrent(h)
        if self.variant.gates == "joint":
            a = self.normalize(a, self.p["gain_ih"], self.bias("bias_ih", "bias_hh"), self.together)
        i, f, g, o = a.chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        shown = c
        if self.variant.cell != "raw":
            shown = self.normalize(c, self.p["gain_cell"], self.bias("bias_cell"), (1,))
        h = torch.sigmoid(o) * torch.tanh(shown)
        if "weight_hr" in self.p:
            h = h @ self.p["weight_hr"].mT
        return h, shown if self.variant.cell == "carried" else c


class GRUCell(Cell):
    r"""torch's gated unit, or Eqs. (23)-(25), normalized as in Eqs. (26)-(28).

    $\hat h = \tanh(Wx + \sigma(r)\odot Uh)$. The paper's update gate lets the candidate in,
    $h' = (1-\sigma(z))h + \sigma(z)\hat h$; torch's keeps the old state.
    """

    gates = 3
    together = (2, 1)

    def step(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        (h,) = state
        u = self.recurrent(h)
        (x_rz, x_n), (u_rz, u_n) = (t.split([2 * h.shape[-1], h.shape[-1]], -1) for t in (x, u))
        rz = self._joint(x_rz + u_rz, slice(None, 2 * h.shape[-1]), (2,))
        r, z = torch.sigmoid(rz).chunk(2, -1)
        n = torch.tanh(self._joint(x_n + r * u_n, slice(2 * h.shape[-1], None), (1,)))
        return (h + z * (n - h),) if self.variant.keeps == "new" else (n + z * (h - n),)

    def _joint(self, a: Tensor, rows: slice, gates: Sequence[int]) -> Tensor:
        if self.variant.gates != "joint":
            return a
        bias = self.bias("bias_ih", "bias_hh")
        return self.normalize(a, self.p["gain_ih"][rows], None if bias is None else bias[rows], gates)
