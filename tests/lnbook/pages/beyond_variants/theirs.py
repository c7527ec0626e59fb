"""Thirteen public LSTMs, each a step in its own layout, from a description of its code; no lnlib here.

`THEIRS[name]` has its step, the shapes of its parameters, and how they become ours but for the order of the
gates. A shape is spelled by its axes: D, H, 4 for 4 H, C for D + H, and 2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, sigmoid, tanh

P = Mapping[str, Tensor]


@dataclass(frozen=True)
class Theirs:
    """One implementation."""

    step: Callable[[Tensor, Tensor, Tensor, P], tuple[Tensor, Tensor]]
    shapes: Mapping[str, str]
    ours: Mapping[str, Callable[[P], Tensor]]

    def loop(self, x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
        """All h, and the last c."""
        hs = []
        for step in x:
            h, c = self.step(step, h, c, p)
            hs.append(h)
        return torch.stack(hs), c

    def draw(self, inputs: int, hidden: int, generator: torch.Generator) -> P:
        sizes = {"D": inputs, "H": hidden, "4": 4 * hidden, "C": inputs + hidden, "2": 2}
        shapes = {name: [sizes[letter] for letter in letters] for name, letters in self.shapes.items()}
        return {k: torch.randn(*s, dtype=torch.float64, generator=generator) for k, s in shapes.items()}


def ln(a: Tensor, gain: Tensor, bias: Tensor | float, eps: float) -> Tensor:
    centered = a - a.mean(-1, keepdim=True)
    return gain * centered / torch.sqrt((centered * centered).mean(-1, keepdim=True) + eps) + bias


def by_gate(a: Tensor, gain: Tensor, bias: Tensor, eps: float) -> list[Tensor]:
    """Four gates, each normalized by itself."""
    return [ln(*part, eps) for part in zip(a.chunk(4, -1), gain.chunk(4), bias.chunk(4), strict=True)]


def paper(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    sides = ln(h @ p["Wh"].T, p["α1"], p["β1"], 0) + ln(x @ p["Wx"].T, p["α2"], p["β2"], 0)
    f, i, o, g = (sides + p["b"]).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(ln(c, p["α3"], p["β3"], 0)), c


def theano(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    own = ln(x @ p["W"] + p["b"], p["s1"], p["b1"], 1e-5)
    i, f, o, g = (own + ln(h @ p["U"], p["s2"], p["b2"], 1e-5) + p["b"]).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(ln(c, p["s3"], p["b3"], 1e-5)), c


def lua(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    i, f, o, g = (x @ p["i2h"].T + p["i2h_bias"] + h @ p["h2h"].T + p["h2h_bias"]).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    centered = c - c.mean(-1, keepdim=True)
    std = torch.sqrt((centered * centered).mean(-1, keepdim=True))
    return sigmoid(o) * tanh(p["gain"] * centered / (std + 1e-5) + p["bias"]), c  # outside the root


def haste(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    own = ln(x @ p["kernel"], p["gamma"][0], p["bias"], 1e-5)
    i, g, f, o = (own + ln(h @ p["recurrent_kernel"], p["gamma"][1], 0.0, 1e-5)).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(ln(c, p["gamma_h"], p["beta_h"], 1e-5)), c


def baselines(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    z = ln(x @ p["wx"], p["gx"], p["bx"], 1e-5) + ln(h @ p["wh"], p["gh"], p["bh"], 1e-5) + p["b"]
    i, f, o, u = z.chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(u)
    return sigmoid(o) * tanh(ln(c, p["gc"], p["bc"], 1e-5)), c


def custom_lstms(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    own = ln(x @ p["weight_ih"].T, p["i_weight"], p["i_bias"], 1e-5)
    i, f, g, o = (own + ln(h @ p["weight_hh"].T, p["h_weight"], p["h_bias"], 1e-5)).chunk(4, -1)
    c = ln(sigmoid(f) * c + sigmoid(i) * tanh(g), p["c_weight"], p["c_bias"], 1e-5)
    return sigmoid(o) * tanh(c), c


def tf_addons(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    z = ln(x @ p["kernel"], p["kernel_gamma"], p["kernel_beta"], 1e-3)
    z = z + ln(h @ p["recurrent"], p["recurrent_gamma"], p["recurrent_beta"], 1e-3) + p["bias"]
    i, f, new, o = z.chunk(4, -1)
    c = ln(sigmoid(f) * c + sigmoid(i) * tanh(new), p["state_gamma"], p["state_beta"], 1e-3)
    return sigmoid(o) * tanh(c), c


def tf_contrib(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    i, j, f, o = by_gate(torch.cat([x, h], -1) @ p["kernel"], p["gamma"], p["beta"], 1e-12)
    c = ln(sigmoid(f + 1.0) * c + sigmoid(i) * tanh(j), p["state_gamma"], p["state_beta"], 1e-12)
    return sigmoid(o) * tanh(c), c


def lstms_pth(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    def norm(a: Tensor, which: str) -> Tensor:
        standard = (a - a.mean(-1, keepdim=True)) / torch.sqrt(a.var(-1, keepdim=True) + 1e-6)  # n - 1
        return p[f"{which}_alpha"] * standard + p[f"{which}_beta"]

    own = norm(x @ p["i2h"].T + p["i2h_bias"], "i2h")
    i, f, o, g = (own + norm(h @ p["h2h"].T + p["h2h_bias"], "h2h")).chunk(4, -1)
    c = norm(sigmoid(f) * c + sigmoid(i) * tanh(g), "cell")
    return sigmoid(o) * tanh(c), c


def icefall(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    a = x @ p["weight_ih"].T + p["bias_ih"] + h @ p["weight_hh"].T + p["bias_hh"]
    i, f, g, o = by_gate(a, p["ln_weight"], p["ln_bias"], 1e-5)
    c = ln(sigmoid(f) * c + sigmoid(i) * tanh(g), p["c_weight"], p["c_bias"], 1e-5)
    return sigmoid(o) * tanh(c), c


def returnn(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    own = ln(x @ p["W"], p["x_scale"], p["x_bias"], 1e-12)
    i, j, f, o = (own + ln(h @ p["W_re"], p["h_scale"], p["h_bias"], 1e-12)).chunk(4, -1)
    c = ln(sigmoid(f) * c + sigmoid(i) * tanh(j), p["c_scale"], p["c_bias"], 1e-12)
    return sigmoid(o) * tanh(c), c


def supercell(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    i, j, f, o = by_gate(x @ p["W_xh"] + h @ p["W_hh"], p["alpha"], p["bias"], 1e-3)
    c = c * sigmoid(f + 1.0) + sigmoid(i) * tanh(j)
    return tanh(ln(c, p["c_alpha"], p["c_bias"], 1e-3)) * sigmoid(o), c


def labml(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    a = h @ p["hidden"].T + p["hidden_bias"] + x @ p["input"].T
    i, f, g, o = by_gate(a, p["ln_weight"], p["ln_bias"], 1e-5)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(ln(c, p["c_weight"], p["c_bias"], 1e-5)), c


def own(**names: str) -> dict[str, Callable[[P], Tensor]]:
    """Ours are theirs by another name: "W" itself, "W.T" transposed, "b1+b" a sum."""

    def getter(terms: list[str]) -> Callable[[P], Tensor]:
        return lambda p: sum(p[term[:-2]].T if term.endswith(".T") else p[term] for term in terms)

    return {ours: getter(theirs.split("+")) for ours, theirs in names.items()}


def shapes(**names: str) -> dict[str, str]:
    """Names to shapes, from shapes to names; an underscore lets a shape begin with a digit."""
    return {name: shape.strip("_") for shape, listed in names.items() for name in listed.split()}


def forget(p: P, name: str, first: int) -> Tensor:
    """A bias with the constant 1 of the forget gate added, which comes after so many gates."""
    gates = list(p[name].chunk(4))
    gates[first] = gates[first] + 1.0
    return torch.cat(gates)


THEIRS: Mapping[str, Theirs] = {
    "paper": Theirs(
        paper,
        shapes(_4D="Wx", _4H="Wh", _4="b α1 β1 α2 β2", H="α3 β3"),
        own(weight_ih="Wx", weight_hh="Wh", gain_hh="α1", bias_hh="β1", gain_ih="α2", bias_ih="β2+b")
        | own(gain_cell="α3", bias_cell="β3"),
    ),
    "theano": Theirs(
        theano,
        shapes(D4="W", H4="U", _4="b s1 b1 s2 b2", H="s3 b3"),
        own(weight_ih="W.T", weight_hh="U.T", gain_ih="s1", bias_ih="b1+b", bias_inner="b")
        | own(gain_hh="s2", bias_hh="b2", gain_cell="s3", bias_cell="b3"),
    ),
    "lua": Theirs(
        lua,
        shapes(_4D="i2h", _4H="h2h", _4="i2h_bias h2h_bias", H="gain bias"),
        own(weight_ih="i2h", weight_hh="h2h", bias_ih="i2h_bias", bias_hh="h2h_bias")
        | own(gain_cell="gain", bias_cell="bias"),
    ),
    "haste": Theirs(
        haste,
        shapes(D4="kernel", H4="recurrent_kernel", _24="gamma", _4="bias", H="gamma_h beta_h"),
        own(weight_ih="kernel.T", weight_hh="recurrent_kernel.T", bias_ih="bias")
        | own(gain_cell="gamma_h", bias_cell="beta_h")
        | {f"gain_{side}": lambda p, k=k: p["gamma"][k] for k, side in enumerate(("ih", "hh"))}
        | {"bias_hh": lambda p: torch.zeros_like(p["bias"])},
    ),
    "baselines": Theirs(
        baselines,
        shapes(D4="wx", H4="wh", _4="gx bx gh bh b", H="gc bc"),
        own(weight_ih="wx.T", weight_hh="wh.T", gain_ih="gx", bias_ih="bx+b", gain_hh="gh", bias_hh="bh")
        | own(gain_cell="gc", bias_cell="bc"),
    ),
    "custom_lstms": Theirs(
        custom_lstms,
        shapes(_4D="weight_ih", _4H="weight_hh", _4="i_weight i_bias h_weight h_bias", H="c_weight c_bias"),
        own(weight_ih="weight_ih", weight_hh="weight_hh", gain_ih="i_weight", bias_ih="i_bias")
        | own(gain_hh="h_weight", bias_hh="h_bias", gain_cell="c_weight", bias_cell="c_bias"),
    ),
    "tf_addons": Theirs(
        tf_addons,
        shapes(D4="kernel", H4="recurrent", _4="kernel_gamma kernel_beta recurrent_gamma recurrent_beta bias")
        | shapes(H="state_gamma state_beta"),
        own(weight_ih="kernel.T", weight_hh="recurrent.T", gain_ih="kernel_gamma", bias_ih="kernel_beta+bias")
        | own(gain_hh="recurrent_gamma", bias_hh="recurrent_beta")
        | own(gain_cell="state_gamma", bias_cell="state_beta"),
    ),
    "tf_contrib": Theirs(
        tf_contrib,
        shapes(C4="kernel", _4="gamma beta", H="state_gamma state_beta"),
        own(gain_ih="gamma", gain_cell="state_gamma", bias_cell="state_beta")
        | {
            "weight_ih": lambda p: p["kernel"][: -len(p["state_gamma"])].T,
            "weight_hh": lambda p: p["kernel"][-len(p["state_gamma"]) :].T,
            "bias_ih": lambda p: forget(p, "beta", first=2),
            "bias_hh": lambda p: torch.zeros_like(p["beta"]),
        },
    ),
    "lstms_pth": Theirs(
        lstms_pth,
        shapes(_4D="i2h", _4H="h2h", _4="i2h_bias h2h_bias i2h_alpha i2h_beta h2h_alpha h2h_beta")
        | shapes(H="cell_alpha cell_beta"),
        own(weight_ih="i2h", weight_hh="h2h", bias_inner="i2h_bias", bias_inner_hh="h2h_bias")
        | own(gain_ih="i2h_alpha", bias_ih="i2h_beta", gain_hh="h2h_alpha", bias_hh="h2h_beta")
        | own(gain_cell="cell_alpha", bias_cell="cell_beta"),
    ),
    "icefall": Theirs(
        icefall,
        shapes(_4D="weight_ih", _4H="weight_hh", _4="bias_ih bias_hh ln_weight ln_bias", H="c_weight c_bias"),
        own(weight_ih="weight_ih", weight_hh="weight_hh", bias_inner="bias_ih+bias_hh", gain_ih="ln_weight")
        | own(bias_ih="ln_bias", gain_cell="c_weight", bias_cell="c_bias")
        | {"bias_hh": lambda p: torch.zeros_like(p["ln_bias"])},
    ),
    "returnn": Theirs(
        returnn,
        shapes(D4="W", H4="W_re", _4="x_scale x_bias h_scale h_bias", H="c_scale c_bias"),
        own(weight_ih="W.T", weight_hh="W_re.T", gain_ih="x_scale", bias_ih="x_bias", gain_hh="h_scale")
        | own(bias_hh="h_bias", gain_cell="c_scale", bias_cell="c_bias"),
    ),
    "supercell": Theirs(
        supercell,
        shapes(D4="W_xh", H4="W_hh", _4="alpha bias", H="c_alpha c_bias"),
        own(weight_ih="W_xh.T", weight_hh="W_hh.T", gain_ih="alpha", gain_cell="c_alpha", bias_cell="c_bias")
        | {
            "bias_ih": lambda p: forget(p, "bias", first=2),
            "bias_hh": lambda p: torch.zeros_like(p["bias"]),
        },
    ),
    "labml": Theirs(
        labml,
        shapes(_4D="input", _4H="hidden", _4="hidden_bias ln_weight ln_bias", H="c_weight c_bias"),
        own(weight_ih="input", weight_hh="hidden", bias_inner="hidden_bias", gain_ih="ln_weight")
        | own(bias_ih="ln_bias", gain_cell="c_weight", bias_cell="c_bias")
        | {"bias_hh": lambda p: torch.zeros_like(p["ln_bias"])},
    ),
}
