"""Recurrent drift: what one factor a step does to states and gradients, without layer norm and with it."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.explore.element import Element
from lnlib.norms.normalize import layer_norm

MOST_STEPS = 200  # that the figure's slider reaches
FUNCTIONS = {"none": lambda a: a, "relu": torch.relu, "tanh": torch.tanh}


@dataclass(frozen=True)
class Setting:
    """Where the controls stand: f, the factor of W, the gain, the strength of the inputs, the steps."""

    f: str = "none"
    s: float = 0.9
    g: float = 1.0
    u: float = 0.0
    T: int = 100


# What the buttons show; the figure starts with the first.
PRESETS = {
    "It fades": Setting(),
    "It explodes": Setting(s=1.1),
    "tanh holds it": Setting("tanh", s=1.5),
    "High gain": Setting("tanh", s=1.5, g=3.0),
    "Weak weights": Setting("tanh", s=0.5, u=1.0),
    "Both weak": Setting("tanh", s=0.5, u=0.2),
    "Strong inputs": Setting("tanh", s=1.5, u=1.0),
}


def recurrent_drift(*, seed: int = 0) -> Element:
    r"""A recurrence with and without layer norm, whose per-step factor the reader drags.

    $h_t = f(a_t)$ beside $h_t = f\big(\frac{g}{\sigma_t}(a_t - \mu_t)\big)$, both with
    $a_t = s\,W h_{t-1} + u\,V x_t$, an orthogonal $W$, and no epsilon. Three plots follow: the size of
    what $f$ gets, of the states, and of the gradient $\partial h_T/\partial h_t$.

    *Source* Section 3.1, Eq. (4); the figure is ours.
    """
    weights = _draw(seed, units=24)
    rows = []
    for name, setting in PRESETS.items():
        (_, plain, back), (_, held, held_back) = (unroll(weights, setting, norm) for norm in (False, True))
        f = "no f" if setting.f == "none" else setting.f
        ends = (plain[-1], held[-1], back[1], held_back[1])
        where = f"{name}: {f}, s = {setting.s:g}, g = {setting.g:g}, u = {setting.u:g}"
        rows.append([where, *(f"{float(value):.2g}" for value in ends)])
    caption = (
        f"A recurrence after {Setting.T} steps: the size of its states, and of the gradient that reaches the "
        f"first state from the last, without and with layer norm (LN). Layer norm holds the states. It may "
        f"not hold the gradient."
    )
    state = {**weights, "presets": {name: asdict(setting) for name, setting in PRESETS.items()}}
    head = ["", "states", "states, LN", "gradient", "gradient, LN"]
    return Element("recurrent_drift", state, caption, head, rows)


def unroll(
    weights: dict[str, Any], setting: Setting, normalized: bool
) -> tuple[Float[Tensor, " T"], Float[Tensor, " T_1"], Float[Tensor, " T_1"]]:
    r"""Root mean squares: of what f gets at steps 1 to T, of the states and of the gradient at steps 0 to T.

    The gradient's is $\lVert \partial h_T / \partial h_t \rVert_F / \sqrt H$: how long a gradient of length
    1 is when it reaches $h_t$ from $h_T$, over all its directions. `weights` are `W` (H, H), `V` (H, D), the
    inputs `x` (at least T, D) and the initial state `h` (H,).
    """
    W, V, x, h = (torch.tensor(weights[name], dtype=torch.float64) for name in "WVxh")
    gain, f = torch.full_like(h, setting.g), FUNCTIONS[setting.f]
    summed, states = [], [h.requires_grad_()]
    for given in setting.u * x[: setting.T] @ V.T:
        a = setting.s * W @ states[-1] + given
        summed.append(layer_norm(a, gain, eps=0.0) if normalized else a)
        states.append(f(summed[-1]))
    each_unit = torch.eye(len(h), dtype=torch.float64)
    gradients = torch.autograd.grad(states[-1], states, each_unit, is_grads_batched=True)
    sizes = torch.stack(gradients).square().sum(-1).mean(-1).sqrt()
    return _rms(torch.stack(summed).detach()), _rms(torch.stack(states).detach()), sizes


def _rms(rows: Tensor) -> Tensor:
    return rows.square().mean(-1).sqrt()


def _draw(seed: int, units: int) -> dict[str, Any]:
    """An orthogonal W to five decimals; inputs that give every unit variance 1; a state of that size."""
    rng = np.random.default_rng(seed)
    W = np.linalg.qr(rng.normal(size=(units, units)))[0]
    V, x = rng.normal(scale=0.5**0.5, size=(units, 2)), rng.normal(size=(MOST_STEPS, 2))
    h = rng.normal(size=units)
    h /= np.sqrt(np.mean(h**2))
    digits = {"W": (W, 5), "V": (V, 2), "x": (x, 2), "h": (h, 3)}
    return {name: (np.round(values, places) + 0.0).tolist() for name, (values, places) in digits.items()}
