"""The projection: what layer norm's backward pass keeps of a gradient, for three units."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.explore.element import Element, two_decimals
from lnlib.norms.normalize import layer_norm


def passed(a: Float[Tensor, " H"], gradient: Float[Tensor, " H"]) -> Float[Tensor, " H"]:
    """The gradient by the summed inputs of a case: P times the given one by the outputs, over sigma."""
    a = a.detach().clone().requires_grad_()
    return torch.autograd.grad(layer_norm(a, eps=0.0), a, gradient)[0]


def projection(*, seed: int = 0) -> Element:
    r"""A gradient at a case of three units, and $\frac1\sigma P$ of it, without epsilon or gain.

    The outputs of layer norm lie on a circle in the plane perpendicular to $\mathbf 1$. Of the parts of the
    gradient, along the circle, along $\hat a$ and along $\mathbf 1$, the first passes, divided by $\sigma$.

    *Source* ours; the derivation is in Section 3 of the book.
    """
    rng = np.random.default_rng(seed)
    turn = int(rng.integers(2, 10)) * 5  # degrees
    parts = [round(sign * rng.uniform(0.8, 1.3), 1) for sign in (1, -1, -1)]
    start = {"turn": turn, "sigma": 1.5, "circle": parts[0], "hat": parts[1], "one": parts[2]}
    basis = torch.tensor([[1.0, -1, 0], [-1, -1, 2], [1, 1, 1]], dtype=torch.float64)
    across, up, one = basis / basis.norm(dim=1, keepdim=True)
    angle = torch.tensor(turn * np.pi / 180, dtype=torch.float64)
    outward = angle.cos() * across + angle.sin() * up
    directions = torch.stack([angle.cos() * up - angle.sin() * across, outward, one])
    together = ", ".join(map(two_decimals, parts))
    names = ("along the circle", "along â", "along 1", f"{together} of them")
    gradients = [*directions, torch.tensor(parts, dtype=torch.float64) @ directions]
    rows = []
    for name, gradient in zip(names, gradients, strict=True):
        cells = [gradient, *(passed(sigma * 3**0.5 * outward, gradient) for sigma in (1.0, 1.5))]
        rows.append([name, *(", ".join(map(two_decimals, cell.tolist())) for cell in cells)])
    caption = (
        "Three units. Of a gradient at the outputs of layer norm, only the part along the circle of outputs "
        "reaches the summed inputs, divided by their standard deviation σ."
    )
    head = ["gradient", "at the outputs", "at the inputs, σ = 1", "at the inputs, σ = 1.5"]
    return Element("projection", start, caption, head, rows)
