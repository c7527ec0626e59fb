r"""All variants of a layer-normalized LSTM on the same weights and inputs: what differs, and what cannot.

How far their outputs are apart (`distances`), what each cannot see (`changes`), how long its cell remembers
(`memory`), and what its gradients do while nothing comes in (`blank_gradients`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from lnlib.rnn import LSTM
from lnlib.rnn.variants import VARIANTS, Variant

# Has every parameter that any variant has.
EVERYTHING = Variant("separate", cell="carried", inner_bias="both")

# What can be normalized together, by the name under which the chapter compares it.
SCHEMES: Mapping[str, Variant | None] = {
    "separate": VARIANTS["LSTM"]["paper"],
    "joint": VARIANTS["LSTM"]["joint"],
    "joint, per gate": VARIANTS["LSTM"]["per_gate"],
    "separate, per gate": Variant("separate", per_gate=True, cell="output"),
    "separate, bias inside": replace(VARIANTS["LSTM"]["released"], eps=None),
    "cell only": VARIANTS["LSTM"]["draw"],
    "no norm": None,
}


def settings(variant: str | Variant | None, eps: float = 1e-5) -> dict[str, Any]:
    """Keywords of :class:`lnlib.rnn.LSTM`; None or "none" is torch's own cell."""
    return {"norm": "none"} if variant in (None, "none") else {"variant": variant, "eps": eps}


def as_variant(lstm: LSTM, **keywords: Any) -> LSTM:
    """The same weights in another variant: each parameter goes where its name is, and others are left out."""
    with torch.random.fork_rng(devices=[]):  # its initial weights are overwritten
        other = LSTM(lstm.input_size, lstm.hidden_size, dtype=lstm.weight_hh_l0.dtype, **keywords)
    other.load_state_dict(lstm.state_dict(), strict=False)
    return other


def random_lstm(inputs: int, units: int, generator: torch.Generator, spread: float = 0.0) -> LSTM:
    """A network with every parameter of every variant: weights of variance 1 / D and 1 / H."""
    with torch.random.fork_rng(devices=[]):
        lstm = LSTM(inputs, units, variant=EVERYTHING, dtype=torch.float64)
    with torch.no_grad():
        for name, p in lstm.named_parameters():
            drawn = torch.randn(p.shape, generator=generator, dtype=p.dtype)
            if name.startswith("weight"):
                p.copy_(drawn / p.shape[1] ** 0.5)
            else:
                p.copy_(name.startswith("gain") + spread * drawn)
    return lstm


@torch.no_grad()
def distances(networks: Sequence[LSTM], x: Float[Tensor, "T N D"]) -> Float[np.ndarray, "K K"]:
    """Between the last outputs of every two networks: norm of the difference over the mean of the norms."""
    last = torch.stack([network(x)[0][-1].flatten() for network in networks])
    length = last.norm(dim=1)
    apart = torch.cdist(last, last, compute_mode="donot_use_mm_for_euclid_dist")
    return (2 * apart / (length[:, None] + length)).numpy()


def groups(apart: Float[np.ndarray, "K K"], closer: float) -> list[list[int]]:
    """Who computes the same: chains of networks each closer than this to another one of its group.

    >>> groups(np.array([[0, 0.001, 1], [0.001, 0, 1], [1, 1, 0]]), 0.01)
    [[0, 1], [2]]
    """
    count, label = connected_components(apart < closer, directed=False)
    return sorted(np.flatnonzero(label == k).tolist() for k in range(count))


@torch.no_grad()
def off(
    step: Callable[..., tuple[Tensor, Tensor]], lstm: LSTM, x: Float[Tensor, "T N D"], **switches: Any
) -> float:
    """The largest difference of a network's last output from a step function's, both from a zero state."""
    p = {name.removesuffix("_l0"): value for name, value in lstm.named_parameters()}
    h = c = x.new_zeros(x.shape[1], lstm.hidden_size)
    for x_t in x:
        h, c = step(x_t, h, c, p, **switches)
    return float((lstm(x)[0][-1] - h).abs().max())


Parameters = Mapping[str, Tensor]
Change = Callable[[Parameters, Tensor, Tensor], tuple[dict[str, Tensor], Tensor]]
HH, IH = "weight_hh_l0", "weight_ih_l0"


def _one_gate(W: Tensor) -> Tensor:
    """The first of four gates three times as large."""
    first, *others = W.chunk(4)
    return torch.cat([3 * first, *others])


# From parameters, inputs and random numbers (T, N, H) to the changed parameters, and the inputs.
TRANSFORMATIONS: Mapping[str, Change] = {
    "W_h times 3": lambda p, x, _: ({HH: 3 * p[HH]}, x),
    "W_x times 3": lambda p, x, _: ({IH: 3 * p[IH]}, x),
    "both times 3": lambda p, x, _: ({HH: 3 * p[HH], IH: 3 * p[IH]}, x),
    "one gate of both times 3": lambda p, x, _: ({HH: _one_gate(p[HH]), IH: _one_gate(p[IH])}, x),
    "each x by its own factor": lambda p, x, v: ({}, x * v[..., :1].exp()),
    "a row added to all rows": lambda p, x, v: (
        {HH: p[HH] + v[0, 0], IH: p[IH] + v[0, 1, : p[IH].shape[1]]},
        x,
    ),
}


@torch.no_grad()
def changes(
    variant: Variant | None, lstm: LSTM, x: Float[Tensor, "T N D"], generator: torch.Generator
) -> dict[str, float]:
    """By how much each transformation changes a variant's outputs, relative to them; epsilon is 0."""
    network = as_variant(lstm, **settings(variant, 0.0))
    before, p = network(x)[0], {name: value.clone() for name, value in network.state_dict().items()}
    v = torch.randn(*x.shape[:2], lstm.hidden_size, generator=generator, dtype=x.dtype)
    found = {}
    for name, change in TRANSFORMATIONS.items():
        changed, inputs = change(p, x, v)
        network.load_state_dict(p | changed)
        found[name] = float((network(inputs)[0] - before).norm() / before.norm())
    return found


@dataclass(frozen=True)
class Memory:
    """What is left of a cell's first value."""

    correlation: Float[np.ndarray, " T"]  # over units, of the cell after each step with the first one
    added: float  # variance that a step adds, in units of the first value's


@torch.no_grad()
def memory(cell: str, steps: int, *, opening: float, units: int, generator: torch.Generator) -> Memory:
    """Hold a random cell with the forget gate open, while the input gate lets a share of random inputs in."""
    lstm = as_variant(random_lstm(units, units, generator), **settings(Variant("separate", cell=cell)))
    p = dict(lstm.named_parameters())
    p["gain_hh_l0"].zero_()  # the gates do not look at h
    held = {0: float(np.log(opening / (1 - opening))), 1: 50.0, 3: 0.0}  # i, f, o; float64 has no more of f
    for gate, logit in held.items():
        rows = slice(gate * units, (gate + 1) * units)
        p["gain_ih_l0"][rows], p["bias_ih_l0"][rows] = 0.0, logit
    x = torch.randn(steps, 8, units, generator=generator, dtype=torch.float64)
    first = torch.randn(1, 8, units, generator=generator, dtype=torch.float64)
    cells = lstm(x, (torch.zeros_like(first), first), return_cells=True)[-1]
    cosine = torch.cosine_similarity(
        cells - cells.mean(-1, keepdim=True), first - first.mean(-1, keepdim=True), -1
    )
    offered = opening * torch.tanh(lstm.cells()[0].inputs(x.flatten(0, 1))[:, 2 * units : 3 * units])
    return Memory(cosine.mean(1).numpy(), float(offered.var() / first.var()))


def blank_gradients(
    keywords: Mapping[str, Any], blanks: Sequence[int], lstm: LSTM, generator: torch.Generator
) -> list[float]:
    """Norm of all gradients when a sequence begins with so many steps of zeros, and a zero state."""
    network = as_variant(lstm, **keywords)
    x = torch.randn(8, 32, lstm.input_size, generator=generator, dtype=torch.float64)
    projection = torch.randn(lstm.hidden_size, generator=generator, dtype=torch.float64)
    norms = []
    for count in blanks:
        zeros = x.new_zeros(count, *x.shape[1:])
        loss = (network(torch.cat([zeros, x]))[0][-1] @ projection).square().mean()
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        norms.append(float(torch.cat([g.flatten() for g in gradients]).norm()))
    return norms
