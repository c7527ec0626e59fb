r"""Variants of a layer-normalized LSTM on the same weights and inputs: what differs, and what cannot.

Thirteen `IMPLEMENTATIONS` differ in what is normalized together, where the biases act, which cell the next
step gets, and in $\epsilon$. *Source* each project's own code; the table beside this file has what else to
know of them.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from torch import Tensor

from lnbook.figures import plots
from lnlib.rnn import LSTM
from lnlib.rnn.variants import PLAIN, VARIANTS, Variant

HH, IH = "weight_hh_l0", "weight_ih_l0"
NAMED = VARIANTS["LSTM"]

# What is normalized where, and epsilon, by what a program is called, and by whom.
IMPLEMENTATIONS = {}
with Path(__file__).with_name("implementations.csv").open(encoding="utf-8") as _file:
    for _row in csv.DictReader(_file):
        _given: dict[str, Any] = {name: _row[name] for name in ("gates", "cell", "inner_bias")}
        _given |= {name: bool(_row[name]) for name in ("per_gate", "unbiased")}
        IMPLEMENTATIONS[_row["title"]] = Variant(**_given), float(_row["eps"])

# An LSTM's step as a drawing: what stands where, and along which ways the numbers go.
CELL = r"""
c_{t-1} .   .   .  ×f        .         +c  .        .  .         LN5   c_t
.       .   .   .  .         .         ×i  .        .  .         LN3   .
.       .   .   .  .         .         .   .        .  .         \tanh .
.       .   .   .  \sigma(f) \sigma(i) .   \tanh(g) .  \sigma(o) ×o    h_t
h_{t-1} W_h LN1 .  .         .         .   .        .  .         .     .
.       .   .   +a .         .         LN4 .        .  .         .     .
x_t     W_x LN2 b  .         .         .   .        .  .         .     .
"""
WAYS = r"""
c_{t-1} ×f +c LN5 c_t
+c LN3 \tanh ×o h_t
h_{t-1} W_h LN1 +a LN4
x_t W_x LN2 +a
b +a
LN4 \sigma(f) ×f
LN4 \sigma(i) ×i +c
LN4 \tanh(g) ×i
LN4 \sigma(o) ×o
"""

# What can be normalized together, by the name under which the chapter compares it.
SCHEMES = {
    "separate": NAMED["paper"],
    "joint": NAMED["joint"],
    "joint, per gate": NAMED["per_gate"],
    "separate, per gate": Variant("separate", per_gate=True, cell="output"),
    "separate, bias inside": Variant("separate", cell="output", inner_bias="input"),
    "cell only": NAMED["draw"],
    "no norm": PLAIN,
}


def together(row: Variant) -> str:
    """What shares one mean and one standard deviation, in words."""
    if row.gates == "none":
        return "the cell only"
    what = "sum" if row.gates == "joint" else "each projection"
    return f"{what}, gate by gate" if row.per_gate else f"{what}, all gates"


def as_variant(lstm: LSTM, variant: str | Variant, eps: float = 1e-5) -> LSTM:
    """The same weights in another variant: each parameter goes where its name is, and others are left out."""
    sizes, dtype = (lstm.input_size, lstm.hidden_size), lstm.weight_hh_l0.dtype
    with torch.random.fork_rng(devices=[]):  # its initial weights are overwritten
        other = LSTM(*sizes, variant=variant, eps=eps, dtype=dtype)
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


@torch.no_grad()
def changes(
    row: Variant, lstm: LSTM, x: Float[Tensor, "T N D"], generator: torch.Generator
) -> dict[str, tuple[float, bool]]:
    """How much each transformation changes a variant's outputs, at epsilon 0, and whether it should not."""
    network = as_variant(lstm, row, 0.0)
    before, p = network(x)[0], {name: value.clone() for name, value in network.state_dict().items()}
    v = torch.randn(*x.shape[:2], lstm.hidden_size, generator=generator, dtype=x.dtype)
    W_h, W_x = p[HH], p[IH]
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
        p["gain_ih_l0"].view(4, units)[gate], p["bias_ih_l0"].view(4, units)[gate] = 0.0, logit
    x = torch.randn(300, 8, units, generator=generator, dtype=torch.float64)
    first = torch.randn(1, 8, units, generator=generator, dtype=torch.float64)
    cells = lstm(x, (torch.zeros_like(first), first), return_cells=True)[-1]
    centered, start = (c - c.mean(-1, keepdim=True) for c in (cells, first))
    cosine = torch.cosine_similarity(centered, start, -1)
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
    return torch.as_tensor(net(x, return_cells=True)[-1])


def cell() -> Figure:
    """The LSTM cell with all places of normalization, those of the paper solid."""
    fig, ax = plots.subplots(figsize=(6.4, 3.4))
    ax.set(xlim=(-0.4, 11.4), ylim=(6.5, -0.5))
    ax.axis("off")
    drawn = {}
    for y, row in enumerate(CELL.strip().splitlines()):
        for x, name in enumerate(row.split()):
            if name != ".":
                drawn[name] = _part(ax, x, y, name)
    for way in WAYS.strip().splitlines():
        for start, end in pairwise(way.split()):
            edges = {"patchA": drawn[start].get_bbox_patch(), "patchB": drawn[end].get_bbox_patch()}
            look = {"arrowstyle": "-|>", "color": plots.INK, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", drawn[end].get_position(), drawn[start].get_position(), arrowprops=look | edges)
    return fig


def _part(ax: Axes, x: float, y: float, name: str) -> Text:
    """A norm or a map in its box, a sign in its circle, or a letter."""
    if name.startswith("LN"):
        text, look = f"LN {name[2]}", {"ec": plots.COLORS["layer"], "ls": "-" if name < "LN4" else "--"}
    elif name[0] in "+×":
        text, look = name[0], {"boxstyle": "circle", "ec": plots.INK}
    else:
        text, look = f"${name}$", {"ec": plots.INK if name[0] in r"\W" else "none"}
    box = {"boxstyle": "round", "fc": "none", "lw": 1.5} | look
    return ax.text(x, y, text, ha="center", va="center", bbox=box)
