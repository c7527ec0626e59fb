r"""Variants of a layer-normalized LSTM on the same weights and inputs: what differs, and what cannot.

Thirteen `IMPLEMENTATIONS` differ in what is normalized together, where the biases act, which cell the next
step gets, and in $\epsilon$. *Source* each project's own code; the table beside this file has what else to
know of them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from torch import Tensor

from lnbook.figures import plots
from lnlib.rnn import LSTM
from lnlib.rnn.variants import PLAIN, VARIANTS, Variant

HH, IH = "weight_hh_l0", "weight_ih_l0"
NAMED = VARIANTS["LSTM"]
INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]

# What is normalized where, and epsilon, by what a program is called, and by whom.
IMPLEMENTATIONS = {}
with Path(__file__).with_name("implementations.csv").open(encoding="utf-8") as _file:
    for _row in csv.DictReader(_file):
        _given: dict[str, Any] = {name: _row[name] for name in ("gates", "cell", "inner_bias")}
        _given |= {name: bool(_row[name]) for name in ("per_gate", "unbiased")}
        IMPLEMENTATIONS[_row["title"]] = Variant(**_given), float(_row["eps"])

# Where a variant may normalize, by the number in the drawing.
PLACES = {1: "state", 2: "input", 3: "cell, to $h_t$", 4: "sum", 5: "cell, to $t+1$"}

SHOWN = {
    "plain, (17)-(19)": PLAIN,
    "paper, (20)-(22)": NAMED["paper"],
    "DRAW, (29)-(31)": NAMED["draw"],
    "joint, as Eq. (4)": NAMED["joint"],
    "per gate": NAMED["per_gate"],
    "normalized state": NAMED["normalized_state"],
}

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


def places(variant: Variant) -> set[int]:
    """The places of `PLACES` at which a variant of an LSTM normalizes."""
    gates: set[int] = {"separate": {1, 2}, "joint": {4}, "none": set()}[variant.gates]
    return gates | {"raw": set(), "output": {3}, "carried": {3, 5}, "next": {5}}[variant.cell]


def cell(variants: Mapping[str, Variant]) -> Figure:
    """The LSTM cell with its places of normalization, and below which variant uses which."""
    fig, (top, bottom) = plots.subplots(2, 1, figsize=(6.4, 5.4), height_ratios=(11, 10))
    _draw_cell(top)
    for row, (name, variant) in enumerate(variants.items()):
        bottom.axhline(row + 0.5, color=NONE, lw=0.5, alpha=0.5)
        bottom.text(-0.85, row, name, va="center")
        for place in places(variant):
            four = place == 4 and variant.per_gate
            x = place + 0.13 * np.arange(-1.5, 2) if four else np.array([place])
            bottom.plot(x, np.full(x.shape, row), "o", color=LAYER, ms=7 if four else 13)
    bottom.set(xlim=(-0.9, 5.6), ylim=(len(variants) - 0.3, -0.5), yticks=[])
    bottom.set_xticks(list(PLACES), [f"LN {k}\n{text}" for k, text in PLACES.items()])
    bottom.xaxis.tick_top()
    bottom.tick_params(length=0)
    bottom.spines[:].set_visible(False)
    bottom.grid(visible=False)
    return fig


def _draw_cell(ax: Axes) -> None:
    ax.set(xlim=(-0.3, 13.9), ylim=(0.3, 5.7), aspect="equal")
    ax.axis("off")

    def box(x: float, y: float, text: str, color: str = INK, width: float = 1.1, line: str = "-") -> None:
        corner = x - width / 2, y - 0.33
        ax.add_patch(
            FancyBboxPatch(corner, width, 0.66, "round,pad=0.04", fc="none", ec=color, lw=1.8, ls=line)
        )
        ax.text(x, y, text, ha="center", va="center", color=color)

    def arrow(*points: tuple[float, float]) -> None:
        *line, start, end = points
        if line:
            ax.plot(*zip(*line, start, strict=True), color=INK, lw=1.2, solid_joinstyle="miter")
        style = {"arrowstyle": "-|>", "color": INK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", end, start, arrowprops=style)

    for y, name, place in ((2.3, "h", 1), (0.9, "x", 2)):  # the projections
        arrow((0.75, y), (1.15, y))
        box(1.75, y, f"$W_{name}$")
        arrow((2.35, y), (2.85, y))
        box(3.5, y, f"LN {place}", LAYER)
        arrow((4.1, y), (4.75, y), (4.75, 1.6 + 0.3 * np.sign(y - 1.6)))
    for name, x in {"f": 7.0, "i": 8.0, "g": 9.2, "o": 10.3}.items():
        arrow((x, 1.6), (x, 2.2))
        box(x, 2.57, r"$\tanh$" if name == "g" else r"$\sigma$", width=0.95 if name == "g" else 0.7)
        ax.text(x - 0.12, 1.9, f"${name}$", ha="right", va="center")
    box(5.85, 1.6, "LN 4", LAYER, line="--")
    box(12.2, 5.2, "LN 5", LAYER, line="--")
    box(11.3, 4.34, "LN 3", LAYER)
    box(11.3, 3.43, r"$\tanh$", width=0.95)
    for x, y in ((4.75, 1.6), (8.6, 5.2), (7.0, 5.2), (8.6, 3.85), (11.3, 2.57)):
        ax.add_patch(Circle((x, y), 0.27, fc="none", ec=INK, lw=1.2))
        sign = "+" if (x, y) in ((4.75, 1.6), (8.6, 5.2)) else r"$\times$"
        ax.text(x, y, sign, ha="center", va="center_baseline", fontsize=12)
    letters = {"h_{t-1}": (0.2, 2.3), "x_t": (0.2, 0.9), "b": (3.75, 1.6)}
    letters |= {"c_{t-1}": (0.2, 5.2), "c_t": (13.55, 5.2), "h_t": (13.55, 2.57)}
    for name, at in letters.items():
        ax.text(*at, f"${name}$", ha="center", va="center", fontsize=13)
    for y, *ends in ((1.6, 5.03, 5.25), (1.6, 6.45, 10.3), (5.2, 8.89, 11.6)):
        ax.plot(ends, [y, y], color=INK, lw=1.2)
    across = (1.6, 3.95, 4.46), (2.57, 10.69, 11.01), (2.57, 11.59, 13.2)
    for y, start, end in (*across, (5.2, 0.75, 6.71), (5.2, 7.29, 8.31), (5.2, 12.8, 13.2)):
        arrow((start, y), (end, y))
    down = (11.3, 5.2, 4.71), (11.3, 3.97, 3.8), (11.3, 3.06, 2.86)
    for x, start, end in ((7.0, 2.97, 4.91), (8.6, 4.14, 4.91), *down):
        arrow((x, start), (x, end))
    arrow((8.0, 2.97), (8.4, 3.62))
    arrow((9.2, 2.97), (8.8, 3.62))
