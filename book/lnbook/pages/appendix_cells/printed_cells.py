r"""The supplement's cells as functions of their letters: held against a module, and counted by direction.

A cell in print is a function `run(p, X)`: from the letters by name, such as `W_h`, and the inputs of all
steps to the outputs of all steps. The states before the first step, `h_0` and `c_0`, count as letters.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.rnn import LSTM

Letters = Mapping[str, np.ndarray]
Steps = Float[np.ndarray, "_ _"]  # a row a step
Run = Callable[[Letters, np.ndarray], np.ndarray]

# The letters of the gates, and of a GRU's candidate, by torch's names.
ROWS = {
    "weight_hh_l0": ("W_h", "U"),
    "weight_ih_l0": ("W_x", "W"),
    "gain_hh_l0": ("alpha_1", "alpha_4"),
    "bias_hh_l0": ("beta_1", "beta_4"),
    "gain_ih_l0": ("alpha_2", "alpha_3"),
    "bias_ih_l0": ("beta_2", "beta_3"),
}


def letters(kind: str, H: int, D: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random letters of Eqs. (20)-(22), of an "LSTM", or of Eqs. (26)-(28), of a "GRU"."""
    G = 4 * H if kind == "LSTM" else 2 * H
    shapes: dict[str, tuple[int, ...]] = {"W_h": (G, H), "W_x": (G, D), "h_0": (H,)}
    shapes |= {"c_0": (H,), "b": (G,)} if kind == "LSTM" else {"W": (H, D), "U": (H, H)}
    for k in (1, 2, 3) if kind == "LSTM" else (1, 2, 3, 4):
        shapes[f"alpha_{k}"] = shapes[f"beta_{k}"] = (G,) if k < 3 else (H,)
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def bare(p: Letters) -> dict[str, np.ndarray]:
    """The letters with zeros for the betas of gates and candidate, which cells without norms there lack."""
    silent = {"beta_1", "beta_2"} | ({"beta_3", "beta_4"} if "U" in p else set())
    return {name: np.zeros_like(value) if name in silent else value for name, value in p.items()}


def printed(lines: Mapping[str, Callable[..., Any]]) -> Run:
    """Equations of `lnlib.equations`, step after step, under the letters each finds, such as "f i o g"."""

    def run(p: Letters, X: np.ndarray) -> np.ndarray:
        known = {**p, **{name[0]: p[name] for name in ("h_0", "c_0") if name in p}}
        outputs = []
        for x in X:
            known["x"] = x
            for found, equation in lines.items():
                values = equation(**{name: known[name] for name in inspect.signature(equation).parameters})
                known |= zip(found.split(), values, strict=True) if " " in found else {found: values}
            outputs.append(known["h"])
        return np.array(outputs)

    return run


def torch_names(p: Letters, sign: int = 1) -> dict[str, Tensor]:
    """The letters by torch's names: f, i, o, g as i, f, g, o; z, r, candidate as r, sign z, candidate.

    The sign is -1 for torch's own GRU, whose open update gate keeps the old state.
    """
    found = {}
    for name, (gates, candidate) in ROWS.items():
        if "U" in p:
            z, r = np.split(p[gates], 2)
            parts = [r, sign * z, p[candidate]]
        else:
            f, i, o, g = np.split(p[gates] + p["b"] if gates == "beta_2" else p[gates], 4)
            parts = [i, f, g, o]
        found[name] = torch.from_numpy(np.concatenate(parts))
    if "U" not in p:
        found |= {"gain_cell_l0": torch.tensor(p["alpha_3"]), "bias_cell_l0": torch.tensor(p["beta_3"])}
    return found


def backward(
    p: Letters, X: Steps, h: Steps, c: Steps, d_outputs: Steps, eps: float
) -> dict[str, Float[np.ndarray, "..."]]:
    """The gradients of all letters of Eqs. (20)-(22), from the outputs' gradients; states from step 0 on."""
    grad = {k: np.zeros_like(v) for k, v in p.items()}
    dh, dc = np.zeros_like(p["h_0"]), np.zeros_like(p["c_0"])

    def normalize(z: np.ndarray) -> tuple[np.ndarray, float]:
        scale = np.sqrt(z.var() + eps)
        return (z - z.mean()) / scale, scale

    def through(norm: tuple[np.ndarray, float], k: int, dy: np.ndarray) -> np.ndarray:
        """Back through the k-th layer norm."""
        (hat, s), v = norm, p[f"alpha_{k}"] * dy
        grad[f"alpha_{k}"] += hat * dy
        grad[f"beta_{k}"] += dy
        return np.asarray((v - v.mean() - hat * (hat * v).mean()) / s)

    for t in reversed(range(len(X))):
        norms = normalize(p["W_h"] @ h[t]), normalize(p["W_x"] @ X[t]), normalize(c[t + 1])
        y_1, y_2, y_3 = (p[f"alpha_{k}"] * norm[0] + p[f"beta_{k}"] for k, norm in enumerate(norms, 1))
        f, i, o, g = np.split(y_1 + y_2 + p["b"], 4)
        f, i, o = 1 / (1 + np.exp(-np.array([f, i, o])))
        g, u = np.tanh(g), np.tanh(y_3)
        dh = dh + d_outputs[t]
        dc = dc + through(norms[2], 3, dh * o * (1 - u**2))
        da = np.concatenate(
            [dc * c[t] * f * (1 - f), dc * g * i * (1 - i), dh * u * o * (1 - o), dc * i * (1 - g**2)]
        )
        v_h, v_x = through(norms[0], 1, da), through(norms[1], 2, da)
        grad["b"] += da
        grad["W_h"] += np.outer(v_h, h[t])
        grad["W_x"] += np.outer(v_x, X[t])
        dh, dc = p["W_h"].T @ v_h, f * dc
    return grad | {"h_0": dh, "c_0": dc}


def autograd(
    module: nn.RNNBase, p: Letters, X: Float[np.ndarray, "T D"], d_outputs: np.ndarray, sign: int = 1
) -> tuple[Float[np.ndarray, "T H"], dict[str, Tensor]]:
    """Outputs of a module of one layer that gets these letters; gradients by parameter, `h_0` and `c_0`."""
    module.load_state_dict(torch_names(p, sign), strict=False)
    module.zero_grad()
    start = {k: torch.tensor(p[k])[None].requires_grad_() for k in ("h_0", "c_0") if k in p}
    out, _ = module(torch.tensor(X), tuple(start.values()) if len(start) > 1 else start["h_0"])
    out.backward(torch.from_numpy(d_outputs))
    found = {**dict(module.named_parameters()), **start}
    return out.detach().numpy(), {k: v.grad for k, v in found.items() if v.grad is not None}


def off_autograd(module: LSTM, p: Letters, X: Float[np.ndarray, "T D"]) -> float:
    """How far `backward` is from autograd through an LSTM, relative to the largest entry of each gradient."""
    weights = np.cos(np.arange(len(X) * len(p["h_0"]))).reshape(len(X), -1)  # any gradient will do
    outputs, theirs = autograd(module, p, X, weights)
    first = tuple(torch.tensor(p[k])[None] for k in ("h_0", "c_0"))
    cells = module(torch.tensor(X), first, return_cells=True)[-1].detach()
    h, c = np.vstack([p["h_0"], outputs]), np.vstack([p["c_0"], cells])
    gradients = backward(p, X, h, c, weights, module.config.eps)
    ours = torch_names(gradients | {"b": 0 * gradients["b"]})  # the bias of beta_2 + b has one gradient
    ours |= {k: torch.from_numpy(gradients[k]) for k in ("h_0", "c_0")}
    return max(float((v - ours[k]).abs().max() / v.abs().max()) for k, v in theirs.items())


def compare(
    module: nn.RNNBase, run: Run, p: Letters, d: Letters, X: Float[np.ndarray, "T D"], sign: int = 1
) -> tuple[float, float]:
    """How far a module is from the print: largest difference of outputs, relative one of a derivative."""
    printed = run(p, X)
    weights = np.cos(np.arange(printed.size)).reshape(printed.shape)
    outputs, gradients = autograd(module, p, X, weights, sign)
    along = {**torch_names(d, sign), **{k: torch.tensor(d[k])[None] for k in ("h_0", "c_0") if k in d}}
    slope = sum(float((gradient * along[k]).sum()) for k, gradient in gradients.items())
    ahead, behind = (run({k: p[k] + s * d[k] for k in p}, X) for s in (1e-5, -1e-5))
    difference = float((weights * (ahead - behind)).sum()) / 2e-5
    return float(np.abs(outputs - printed).max()), abs(difference / slope - 1)


def rank(run: Run, p: Letters, X: Float[np.ndarray, "T D"], names: Sequence[str]) -> int:
    """Independent directions among some letters: the rank of the outputs' derivative by them."""
    columns = []
    for name in names:
        for unit in np.eye(p[name].size).reshape(-1, *p[name].shape):
            ahead, behind = (run({**p, name: p[name] + s * unit}, X) for s in (1e-4, -1e-4))
            columns.append((ahead - behind).ravel())
    return int(torch.linalg.matrix_rank(torch.from_numpy(np.array(columns)), rtol=1e-6))
