"""Every variant once more, as a loop over time in plain operations, from the equations alone.

`x` is (T, N, D); `p` has one layer's parameters by torch's names; `n(a, gain, bias)` is the normalization.
Rows of the matrices are gates i, f, g, o of an LSTM and r, z, n of a GRU. No function here imports lnlib.
"""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, sigmoid, tanh

Normalize = Callable[[Tensor, Tensor, Tensor], Tensor]
Parameters = Mapping[str, Tensor]


def layer(eps: float) -> Normalize:
    def n(a: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        centered = a - a.mean(-1, keepdim=True)
        return gain * centered / torch.sqrt((centered**2).mean(-1, keepdim=True) + eps) + bias

    return n


def rms(eps: float) -> Normalize:
    return lambda a, gain, bias: gain * a / torch.sqrt((a**2).mean(-1, keepdim=True) + eps) + bias


def batch(eps: float) -> Normalize:
    return lambda a, gain, bias: layer(eps)(a.T, gain[:, None], bias[:, None]).T


def each(n: Normalize, gates: int) -> Normalize:
    """n of one gate at a time."""

    def per_gate(a: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        parts = zip(a.chunk(gates, -1), gain.chunk(gates), bias.chunk(gates), strict=True)
        return torch.cat([n(*part) for part in parts], -1)

    return per_gate


# --- the RNN: Eq. (4), and each projection by itself ---------------------------------------------


def rnn(
    x: Tensor, h: Tensor, p: Parameters, n: Normalize, f: Callable = tanh, joint: bool = True
) -> tuple[Tensor, ...]:
    hs = []
    for step in x:
        own, from_h = step @ p["weight_ih"].T, h @ p["weight_hh"].T
        if joint:
            h = f(n(own + from_h, p["gain_ih"], p["bias_ih"] + p["bias_hh"]))
        else:
            h = f(n(own, p["gain_ih"], p["bias_ih"]) + n(from_h, p["gain_hh"], p["bias_hh"]))
        hs.append(h)
    return torch.stack(hs), h


# --- the LSTM: Eqs. (17)-(22), (29)-(31) ---------------------------------------------------------


def lstm(
    x: Tensor, h: Tensor, c: Tensor, gates: Callable, n: Callable, cell: str = "output"
) -> tuple[Tensor, ...]:
    """Eqs. (18), (19): `gates(x, h)` before their sigmoids; `cell` says who sees n of it, as in Variant."""
    hs = []
    for step in x:
        i, f, g, o = gates(step, h).chunk(4, -1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c if cell == "next" else n(c))
        c = c if cell == "output" else n(c)
        hs.append(h)
    return torch.stack(hs), h, c


def lstm_separate(
    x: Tensor, h: Tensor, c: Tensor, p: Parameters, n: Normalize, cell: str = "output"
) -> tuple[Tensor, ...]:
    def gates(step: Tensor, h: Tensor) -> Tensor:  # Eq. (20), its bias b part of the two others
        own = n(step @ p["weight_ih"].T + p.get("bias_inner", 0), p["gain_ih"], p["bias_ih"])
        return own + n(h @ p["weight_hh"].T, p["gain_hh"], p["bias_hh"])

    return lstm(x, h, c, gates, lambda c: n(c, p["gain_cell"], p["bias_cell"]), cell)


def lstm_joint(
    x: Tensor, h: Tensor, c: Tensor, p: Parameters, n: Normalize, per_gate: bool, cell: str = "output"
) -> tuple[Tensor, ...]:
    of_gates = each(n, 4) if per_gate else n

    def gates(step: Tensor, h: Tensor) -> Tensor:  # Eq. (4) for all gates
        a = step @ p["weight_ih"].T + h @ p["weight_hh"].T
        return of_gates(a, p["gain_ih"], p["bias_ih"] + p["bias_hh"])

    return lstm(x, h, c, gates, lambda c: n(c, p["gain_cell"], p["bias_cell"]), cell)


def lstm_draw(x: Tensor, h: Tensor, c: Tensor, p: Parameters, n: Normalize) -> tuple[Tensor, ...]:
    def gates(step: Tensor, h: Tensor) -> Tensor:  # Eq. (29)
        return step @ p["weight_ih"].T + h @ p["weight_hh"].T + p["bias_ih"] + p["bias_hh"]

    return lstm(x, h, c, gates, lambda c: n(c, p["gain_cell"], p["bias_cell"]))  # Eq. (31)


# --- the GRU: Eqs. (23)-(28) ---------------------------------------------------------------------


def gru(x: Tensor, h: Tensor, p: Parameters, n: Normalize, keeps_new: bool = True) -> tuple[Tensor, ...]:
    """Eqs. (24), (25), each side of r, z and the candidate normalized by n."""
    hs = []
    for step in x:
        own = n(step @ p["weight_ih"].T + p.get("bias_inner", 0), p["gain_ih"], p["bias_ih"])
        (xr, xz, xn), from_h = own.chunk(3, -1), n(h @ p["weight_hh"].T, p["gain_hh"], p["bias_hh"])
        hr, hz, hn = from_h.chunk(3, -1)
        z, candidate = sigmoid(xz + hz), tanh(xn + sigmoid(xr + hr) * hn)
        h = (1 - z) * h + z * candidate if keeps_new else z * h + (1 - z) * candidate
        hs.append(h)
    return torch.stack(hs), h


def two_and_one(n: Normalize) -> Normalize:
    """r and z share their statistics; the candidate has its own: Eqs. (26), (27)."""

    def normalize(a: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        k = 2 * a.shape[-1] // 3
        parts = (n(a[..., s], gain[s], bias[s]) for s in (slice(None, k), slice(k, None)))
        return torch.cat(list(parts), -1)

    return normalize


def gru_joint(x: Tensor, h: Tensor, p: Parameters, n: Normalize) -> tuple[Tensor, ...]:
    k, (gain, bias), hs = 2 * h.shape[-1], (p["gain_ih"], p["bias_ih"] + p["bias_hh"]), []
    for step in x:
        own, from_h = step @ p["weight_ih"].T, h @ p["weight_hh"].T
        r, z = sigmoid(n(own[:, :k] + from_h[:, :k], gain[:k], bias[:k])).chunk(2, -1)
        candidate = tanh(n(own[:, k:] + r * from_h[:, k:], gain[k:], bias[k:]))
        h = (1 - z) * h + z * candidate
        hs.append(h)
    return torch.stack(hs), h


LOOPS: Mapping[str, Mapping[str, Callable[..., tuple[Tensor, ...]]]] = {
    "RNN": {"paper": rnn, "joint": rnn, "separate": partial(rnn, joint=False)},
    "LSTM": {
        "paper": lstm_separate,
        "joint": partial(lstm_joint, per_gate=False),
        "draw": lstm_draw,
        "released": lstm_separate,  # its parameters have an inner bias
        "per_gate": partial(lstm_joint, per_gate=True),
        "normalized_state": partial(lstm_separate, cell="carried"),
        "rnmt": partial(lstm_joint, per_gate=True, cell="next"),
    },
    "GRU": {
        "paper": lambda x, h, p, n: gru(x, h, p, two_and_one(n)),
        "joint": gru_joint,
        "released": lambda x, h, p, n: gru(x, h, p, two_and_one(n), keeps_new=False),
        "per_gate": lambda x, h, p, n: gru(x, h, p, each(n, 3)),
    },
}
