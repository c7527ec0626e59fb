r"""Ways to normalize an LSTM: one network in which what the statistics are over is an argument.

The methods of Section 4 differ in what a mean and a standard deviation are taken over, and in whether the
state's projection and the cell are normalized too (`METHODS`). Formulas as in `lnlib.rnn.LSTM`, to which the
tests hold them equal. Different here: S networks, one a start gain and seed, compute at once, as one axis of
every tensor; and batch norm's statistics for test time are exact, those of a whole training set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.training import generators
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm

Statistics = Mapping[str, tuple[Tensor, Tensor]]  # by place: means and variances, (T or 1, S, 1, units)
EPS = 1e-5


@dataclass(frozen=True)
class Method:
    """What the statistics are over: "nothing", "units", "cases" (of a step), "cases and steps".

    `both`: the state's projection and the cell are normalized too, not only the input's projection.
    """

    over: str
    both: bool = True


METHODS: Mapping[str, Method] = {
    "none": Method("nothing"),
    "layer": Method("units"),
    "batch": Method("cases"),  # Cooijmans et al. (2016)
    "input, by step": Method("cases", both=False),  # Laurent et al. (2015), "frame-wise"
    "input, by sequence": Method("cases and steps", both=False),  # the same, "sequence-wise"; Amodei et al.
}


class Stack:
    """S LSTMs with a linear map from the last state to the classes, one for each gain and seed.

    Networks of one seed begin with the same weights. `p` holds the parameters, S first.
    """

    def __init__(
        self,
        method: Method,
        inputs: int,
        units: int,
        classes: int,
        gains: Sequence[float],
        seeds: Sequence[int],
    ) -> None:
        self.method, self.units, self.size = method, units, len(gains) * len(seeds)
        drawn = {
            "weight_ih": (4 * units, inputs),
            "weight_hh": (4 * units, units),
            "readout": (classes, units),
        }
        initial = [generators(seed)[0] for seed in seeds]
        self.p = {}
        for name, shape in drawn.items():
            parts = [(2 * torch.rand(shape, generator=g) - 1) / units**0.5 for g in initial]
            self.p[name] = torch.stack(parts).repeat(len(gains), 1, 1)
        start = torch.tensor(gains).repeat_interleave(len(seeds)).view(-1, 1, 1)
        self.p |= {"bias": torch.zeros(self.size, 1, 4 * units), "offset": torch.zeros(self.size, 1, classes)}
        if method.over != "nothing":
            self.p["gain_ih"] = start.repeat(1, 1, 4 * units)
            if method.both:
                self.p |= {"gain_hh": start.repeat(1, 1, 4 * units), "gain_cell": start.repeat(1, 1, units)}
                self.p["bias_cell"] = torch.zeros(self.size, 1, units)
        self.p = {name: value.requires_grad_() for name, value in self.p.items()}

    def __call__(
        self, x: Float[Tensor, "T S N D"], stored: Statistics | None = None
    ) -> Float[Tensor, "S N classes"]:
        """Logits after the last step; batch norm by the batch's statistics, or by stored ones."""
        return self.readout(self.states(x, stored)[-1])

    def readout(self, h: Float[Tensor, "S N H"]) -> Float[Tensor, "S N classes"]:
        return h @ self.p["readout"].mT + self.p["offset"]

    def states(
        self, x: Tensor, stored: Statistics | None = None, record: dict[str, list[Any]] | None = None
    ) -> list[Float[Tensor, "S N H"]]:
        """h after each step; batch norm's statistics are appended to `record`, by place."""
        p, over = self.p, self.method.over

        def place(name: str, a: Float[Tensor, "*T S N G"], t: int | None = None) -> Float[Tensor, "*T S N G"]:
            """Normalize here if the method does, and apply the gain."""
            gain = p.get(f"gain_{name}")
            if gain is None:
                return a
            if over == "units":
                return gain * layer_norm(a, eps=EPS)
            if stored is not None:
                steps = torch.arange(len(a)) if t is None else torch.tensor(t)
                mean, var = (v[steps.clamp(max=len(v) - 1)] for v in stored[name])
                return gain * (a - mean) / (var + EPS).sqrt()
            shared = over == "cases and steps"
            if record is not None:
                all_steps = a if t is None else a[None]
                over_axes = (0, -2) if shared else -2
                var, mean = torch.var_mean(all_steps, over_axes, correction=0, keepdim=True)
                record.setdefault(name, []).append((mean, var))
            if shared:  # the steps are further cases
                together = _over_cases(a.transpose(0, 1).flatten(1, 2), gain)
                return together.unflatten(1, (len(a), -1)).transpose(0, 1)
            return _over_cases(a, gain)

        projected = place("ih", x @ p["weight_ih"].mT) + p["bias"]
        h = c = x.new_zeros(*x.shape[1:3], self.units)
        states = []
        for t, a in enumerate(projected):
            gates = a + place("hh", h @ p["weight_hh"].mT, t)
            i, f, _, o = torch.sigmoid(gates).chunk(4, -1)  # one call, and one quarter too many, is faster
            c = f * c + i * torch.tanh(gates[..., 2 * self.units : 3 * self.units])
            h = o * torch.tanh(place("cell", c, t) + p.get("bias_cell", 0))
            states.append(h)
        return states

    @torch.no_grad()
    def population(self, x: Float[Tensor, "T N D"]) -> Statistics:
        """Batch norm's statistics over these cases, at each step, each place normalized by them in turn."""
        record: dict[str, list[Any]] = {}
        self.states(x.unsqueeze(1).expand(-1, self.size, -1, -1), record=record)
        return {name: tuple(map(torch.cat, zip(*pairs, strict=True))) for name, pairs in record.items()}  # type: ignore[misc]


def _over_cases(a: Float[Tensor, "*T S M G"], gain: Float[Tensor, "S 1 G"]) -> Float[Tensor, "*T S M G"]:
    """`batch_norm` over the M cases, with all other axes counted as units."""
    cases = a.movedim(-2, 0)
    every = gain.squeeze(1).expand_as(cases[0]).flatten()
    return batch_norm(cases.flatten(1), every, eps=EPS).view_as(cases).movedim(0, -2)


def pool(stored: Statistics) -> dict[str, tuple[Tensor, Tensor]]:
    """At each place one mean and variance for all steps: those of all cases and steps together."""

    def together(mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
        return mean.mean(0, keepdim=True), (var + mean.var(0, correction=0)).mean(0, keepdim=True)

    return {name: together(*pair) for name, pair in stored.items()}


def gradient_by_lag(
    stack: Stack, x: Float[Tensor, "T S N D"], y: Int64[Tensor, "S N"]
) -> Float[Tensor, "S T"]:
    r"""$\lVert\partial L/\partial h^{T-k}\rVert$ over the same at k = 0, for k = 0, 1, ..., T - 1."""
    states = stack.states(x)
    loss = cross_entropy(stack.readout(states[-1]).flatten(0, 1), y.flatten())
    norms = torch.stack([d.flatten(1).norm(dim=1) for d in torch.autograd.grad(loss, states)], 1).flip(1)
    return norms / norms[:, :1]
