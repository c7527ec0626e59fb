r"""Variants of a layer-normalized LSTM on the same weights and inputs: what differs, and what cannot.

Thirteen `IMPLEMENTATIONS` differ in what is normalized together, where the biases act, which cell the next
step gets, and in $\epsilon$. *Source* each project's own code; the table beside this file has what else to
know of them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from lnlib.rnn import LSTM
from lnlib.rnn.variants import PLAIN, VARIANTS, Variant

HH, IH = "weight_hh_l0", "weight_ih_l0"


class Implementation(NamedTuple):
    """One public implementation."""

    title: str  # what it is called, and by whom
    row: Variant  # what is normalized where
    eps: float

    @property
    def normalized(self) -> str:
        """What shares one mean and one standard deviation, in words."""
        if self.row.gates == "none":
            return "the cell only"
        what = "sum" if self.row.gates == "joint" else "each projection"
        return f"{what}, gate by gate" if self.row.per_gate else f"{what}, all gates"

    @property
    def carried(self) -> str:
        """Which cell the next step starts from."""
        return "normalized" if self.row.cell == "carried" else "raw"


with Path(__file__).with_name("implementations.csv").open(encoding="utf-8") as _file:
    IMPLEMENTATIONS = [
        Implementation(
            row["title"],
            Variant(
                row["gates"],
                per_gate=bool(row["per_gate"]),
                cell=row["cell"],
                inner_bias=row["inner_bias"],
                unbiased=bool(row["unbiased"]),
            ),
            float(row["eps"]),
        )
        for row in csv.DictReader(_file)
    ]

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


def as_variant(lstm: LSTM, variant: str | Variant | None, eps: float = 1e-5) -> LSTM:
    """The same weights in another variant: each parameter goes where its name is, and others are left out."""
    with torch.random.fork_rng(devices=[]):  # its initial weights are overwritten
        other = LSTM(
            lstm.input_size, lstm.hidden_size, dtype=lstm.weight_hh_l0.dtype, **settings(variant, eps)
        )
    other.load_state_dict(lstm.state_dict(), strict=False)
    return other


def random_lstm(inputs: int, units: int, generator: torch.Generator, spread: float = 0.0) -> LSTM:
    """A network with every parameter of every variant: weights of variance 1 / D and 1 / H."""
    everything = Variant("separate", cell="carried", inner_bias="both")
    with torch.random.fork_rng(devices=[]):
        lstm = LSTM(inputs, units, variant=everything, dtype=torch.float64)
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
def changes(
    variant: Variant | None, lstm: LSTM, x: Float[Tensor, "T N D"], generator: torch.Generator
) -> dict[str, tuple[float, bool]]:
    """How much each transformation changes a variant's outputs, at epsilon 0, and whether it should not."""
    network = as_variant(lstm, variant, 0.0)
    before, p = network(x)[0], {name: value.clone() for name, value in network.state_dict().items()}
    v = torch.randn(*x.shape[:2], lstm.hidden_size, generator=generator, dtype=x.dtype)
    W_h, W_x = p[HH], p[IH]
    row = variant or PLAIN
    normed, separate, free = row.gates != "none", row.gates == "separate", not row.inner_bias
    one_gate = torch.ones(len(W_h), 1, dtype=x.dtype)
    one_gate[: lstm.hidden_size] = 3
    scaled_gate = {HH: one_gate * W_h, IH: one_gate * W_x}
    transformations = {
        "W_h times 3": ({HH: 3 * W_h}, x, separate),
        "W_x times 3": ({IH: 3 * W_x}, x, separate and free),
        "both times 3": ({HH: 3 * W_h, IH: 3 * W_x}, x, normed and free),
        "one gate of both times 3": (scaled_gate, x, normed and row.per_gate and free),
        "each x by its own factor": ({}, x * v[..., :1].exp(), separate and free),
        "a row added to all rows": ({HH: W_h + v[0, 0], IH: W_x + v[0, 1, : W_x.shape[1]]}, x, normed),
    }
    found = {}
    for name, (changed, inputs, unseen) in transformations.items():
        network.load_state_dict(p | changed)
        found[name] = float((network(inputs)[0] - before).norm() / before.norm()), unseen
    return found


@torch.no_grad()
def memory(cell: str, generator: torch.Generator) -> tuple[Float[np.ndarray, " 300"], float]:
    """A cell that keeps all and lets a quarter in: correlation with its start, variance added by a step."""
    units, opening = 256, 0.25
    lstm = as_variant(random_lstm(units, units, generator), Variant("separate", cell=cell))
    p = dict(lstm.named_parameters())
    p["gain_hh_l0"].zero_()  # the gates do not look at h
    held = {0: float(np.log(opening / (1 - opening))), 1: 50.0, 3: 0.0}  # i, f, o; float64 has no more of f
    for gate, logit in held.items():
        rows = slice(gate * units, (gate + 1) * units)
        p["gain_ih_l0"][rows], p["bias_ih_l0"][rows] = 0.0, logit
    x = torch.randn(300, 8, units, generator=generator, dtype=torch.float64)
    first = torch.randn(1, 8, units, generator=generator, dtype=torch.float64)
    cells = lstm(x, (torch.zeros_like(first), first), return_cells=True)[-1]
    cosine = torch.cosine_similarity(
        cells - cells.mean(-1, keepdim=True), first - first.mean(-1, keepdim=True), -1
    )
    offered = opening * torch.tanh(lstm.cells()[0].inputs(x.flatten(0, 1))[:, 2 * units : 3 * units])
    return cosine.mean(1).numpy(), float(offered.var() / first.var())


@torch.no_grad()
def unforgetting(norm: str, seed: int) -> Float[Tensor, "T H"]:
    """The cells of an LSTM of random weights whose forget gates stay open, on 1,000 random inputs."""
    units, inputs = 32, 8
    generator = torch.Generator().manual_seed(seed)
    shapes = (1000, inputs), (4 * units, units), (4 * units, inputs)
    x, W_h, W_x = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    net = LSTM(inputs, units, norm=norm, dtype=torch.float64)
    bias = torch.zeros(4 * units)
    bias[units : 2 * units] = 20.0  # torch's order: i, f, g, o
    given = {HH: W_h / units**0.5, IH: W_x / inputs**0.5, "bias_ih_l0": bias, "bias_hh_l0": 0 * bias}
    net.load_state_dict(given, strict=False)
    cells: Tensor = net(x, return_cells=True)[-1]
    return cells
