"""The Fisher ellipse: what it stands for, the ball of equal divergence, and both as the weights grow."""

import math
from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.functional import hessian

from lnbook.explore.element import Element
from lnlib.fisher import kl
from lnlib.glm import GLM

# What the figure calls its models, and the normalization of each.
MODELS = {
    "none": ("no norm", None),
    "batch": ("batch norm", "batch"),
    "weight": ("weight norm", "weight"),
    "row": ("layer norm, one row", "layer"),
    "layer": ("layer norm, whole W", "layer"),
}
OUTPUTS = {"gaussian": "Gaussian", "bernoulli": "Bernoulli"}
DEGREES = 90
START = {"norm": "batch", "family": "gaussian", "length": 2, "degrees": DEGREES, "c": 0.05}


def fisher_ellipse(*, seed: int = 0) -> Element:
    r"""A plane of weights, the reader's $w$, and the weights around it that predict nearly the same.

    They are two sets: the ball $E_x D_{KL}[P(y|x;w)\,\|\,P(y|x;w')]\le c$, and the Fisher ellipse
    $\frac12(w'-w)^\top F(w)\,(w'-w)\le c$. A second plot has the metric across $w$ against its length.

    Without a normalization and with batch and weight norm the model has one unit, whose weights are $w$.
    Layer norm needs several: unit i has the weights $M_iw$, where $M_i$ turns and stretches and $M_1 = I$;
    so $w$ moves the whole matrix ("whole W"), or the first row alone while the others stay as they
    are at $|w| = 1$ ("one row"). Gains are 1, biases 0.

    *Source* Eq. (8), Section 5.2.2; the figure is ours.
    """
    rng = np.random.default_rng(seed)  # cases about one unit from the origin, on average
    X = rng.normal(size=(6, 2))
    X = (X - X.mean(0)) / X.std(0) + rng.normal(scale=0.3, size=2)
    units = rng.normal(scale=0.5**0.5, size=(6, 2))
    units[0] = 1, 0
    state = {"X": (np.round(X, 1) + 0.0).tolist(), "units": (np.round(units, 2) + 0.0).tolist()}
    rows = []
    for (norm, (name, _)), (family, outputs) in product(MODELS.items(), OUTPUTS.items()):
        short, long = (metric(state, norm, family, length, DEGREES).diagonal() for length in (1.0, 2.0))
        along, across = (
            (f"{one:.2f}", f"× {two / one:.2f}") if one > 1e-12 * short[1] else ("0", "0")
            for one, two in zip(short.tolist(), long.tolist(), strict=True)
        )
        rows.append([f"{name}, {outputs}", *across, *along])
    caption = (
        f"The Fisher metric around weights w of length 1, turned by {DEGREES}°, and its factor when "
        f"|w| doubles. Batch and weight norm, and layer norm when its whole matrix grows, have a quarter of "
        f"it across w, and none along w."
    )
    head = ["", "across w, |w| = 1", "|w| = 2", "along w, |w| = 1", "|w| = 2"]
    return Element("fisher_ellipse", {**state, "start": START}, caption, head, rows)


def model(state: dict[str, Any], norm: str, family: str, first: Tensor, w: Tensor) -> tuple[GLM, Tensor]:
    """The model at two weights w, and its cases; `first` is the direction that other rows of "row" keep."""
    W = w[None]
    if norm in ("row", "layer"):
        (re, im), follows = torch.tensor(state["units"], dtype=w.dtype).T, w if norm == "layer" else first
        W = torch.stack([re * follows[0] - im * follows[1], re * follows[1] + im * follows[0]], 1)
        W = torch.cat([w[None], W[1:]])
    return GLM(family, W, w.new_zeros(len(W)), norm=MODELS[norm][1]), torch.tensor(state["X"], dtype=w.dtype)


def metric(
    state: dict[str, Any], norm: str, family: str, length: float, degrees: float
) -> Float[Tensor, "2 2"]:
    """Fisher matrix along w, then across it: the Hessian of the divergence, Eq. (8)."""
    angle = math.radians(degrees)
    first = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
    directions = torch.stack([first, torch.stack([-first[1], first[0]])])

    def layer(step: Tensor) -> tuple[GLM, Tensor]:
        return model(state, norm, family, first, length * first + step @ directions)

    here, X = layer(torch.zeros_like(first))
    return hessian(lambda step: kl(here, layer(step)[0], X), torch.zeros_like(first))
