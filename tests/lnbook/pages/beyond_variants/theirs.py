"""Thirteen public LSTMs, each a step in its own layout, from a description of its code; no lnlib here.

`THEIRS[name]` has its step, and what of its parameters ours are but for the order of the gates. An array that
holds two of ours is two here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, sigmoid, tanh

P = Mapping[str, Tensor]


@dataclass(frozen=True)
class Theirs:
    """One implementation: `step(x, h, c, p)` returns the next h and c."""

    step: Callable[[Tensor, Tensor, Tensor, P], tuple[Tensor, Tensor]]
    ours: Mapping[str, str]

    def loop(self, x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
        """All h, and the last c."""
        hs = []
        for step in x:
            h, c = self.step(step, h, c, p)
            hs.append(h)
        return torch.stack(hs), c

    def draw(self, inputs: int, hidden: int, generator: torch.Generator) -> P:
        """Each parameter, in the shape of ours that it becomes a part of."""
        shapes = {"weight_ih": (4 * hidden, inputs), "weight_hh": (4 * hidden, hidden)}
        shapes |= {"gain_cell": (hidden,), "bias_cell": (hidden,)}
        p = {}
        for ours, theirs in self.ours.items():
            for term in theirs.split("+"):
                shape = shapes.get(ours, (4 * hidden,))
                drawn = torch.randn(*shape, dtype=torch.float64, generator=generator)
                p[term.removesuffix(".T")] = drawn.T if term.endswith(".T") else drawn
        return p

    def as_ours(self, p: P) -> dict[str, Tensor]:
        """Their parameters by our names."""
        return {
            ours: sum(p[term[:-2]].T if term.endswith(".T") else p[term] for term in theirs.split("+"))
            for ours, theirs in self.ours.items()
        }


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
    own = ln(x @ p["kernel"], p["gamma_x"], p["bias"], 1e-5)
    i, g, f, o = (own + ln(h @ p["recurrent_kernel"], p["gamma_r"], 0.0, 1e-5)).chunk(4, -1)
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
    c = ln(sigmoid(f) * c + sigmoid(i) * tanh(new), p["c_gamma"], p["c_beta"], 1e-3)
    return sigmoid(o) * tanh(c), c


def tf_contrib(x: Tensor, h: Tensor, c: Tensor, p: P) -> tuple[Tensor, Tensor]:
    i, j, f, o = by_gate(x @ p["kernel_x"] + h @ p["kernel_h"], p["gamma"], p["beta"], 1e-12)
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


# In a row each of ours is theirs: "W" itself, "W.T" transposed, "b1+b" a sum, "-" nothing.
TABLE = """
name weight_ih weight_hh gain_ih bias_ih gain_hh bias_hh gain_cell bias_cell bias_inner bias_inner_hh
paper Wx Wh α2 β2+b α1 β1 α3 β3
theano W.T U.T s1 b1+b s2 b2 s3 b3 b
lua i2h h2h - i2h_bias - h2h_bias gain bias
haste kernel.T recurrent_kernel.T gamma_x bias gamma_r - gamma_h beta_h
baselines wx.T wh.T gx bx+b gh bh gc bc
custom_lstms weight_ih weight_hh i_weight i_bias h_weight h_bias c_weight c_bias
tf_addons kernel.T recurrent.T kernel_gamma kernel_beta+bias recurrent_gamma recurrent_beta c_gamma c_beta
tf_contrib kernel_x.T kernel_h.T gamma beta - - state_gamma state_beta
lstms_pth i2h h2h i2h_alpha i2h_beta h2h_alpha h2h_beta cell_alpha cell_beta i2h_bias h2h_bias
icefall weight_ih weight_hh ln_weight ln_bias - - c_weight c_bias bias_ih+bias_hh
returnn W.T W_re.T x_scale x_bias h_scale h_bias c_scale c_bias
supercell W_xh.T W_hh.T alpha bias - - c_alpha c_bias
labml input hidden ln_weight ln_bias - - c_weight c_bias hidden_bias
"""
OURS, *ROWS = (line.split()[1:] for line in TABLE.strip().splitlines())
STEPS = (paper, theano, lua, haste, baselines, custom_lstms, tf_addons, tf_contrib, lstms_pth, icefall)
STEPS += (returnn, supercell, labml)
THEIRS = {
    step.__name__: Theirs(
        step, {ours: theirs for ours, theirs in zip(OURS, row, strict=False) if theirs != "-"}
    )
    for step, row in zip(STEPS, ROWS, strict=True)
}
