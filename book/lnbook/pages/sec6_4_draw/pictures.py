"""What a DRAW model paints and where, and how far its bound is from the likelihood."""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.pages.sec6_4_draw.experiment import Drawing
from lnbook.pages.sec6_4_draw.model import Draw


class Strokes(NamedTuple):
    """A picture's way from blank to done; pixels span 0 to 1, 1 to 2, ..."""

    pictures: Float[np.ndarray, "T N A A"]  # the probability of each pixel after each glimpse
    write: Float[np.ndarray, "T N 3"]  # left edge, top edge and width of each stroke's window


@torch.no_grad()
def strokes(model: Draw, noise: Float[Tensor, "T N Z"], x: Float[Tensor, "N A A"] | None = None) -> Strokes:
    """Glimpse after glimpse of a picture, or, without one, of what the model makes up.

    >>> model = Draw(8, units=16, codes=3, norm="layer", generator=torch.Generator())
    >>> strokes(model, torch.zeros(4, 2, 3)).pictures.shape
    (4, 2, 8, 8)
    """
    steps = list(model.unroll(noise, x))
    pictures = torch.stack([step.canvas.sigmoid() for step in steps]).numpy()
    return Strokes(pictures, np.stack([box(step.write, model.points[1], model.side) for step in steps]))


def box(windows: Float[Tensor, "N 5"], points: int, side: int) -> Float[np.ndarray, "N 3"]:
    """Left edge, top edge and width of square windows: each point has a square as wide as the stride.

    >>> box(torch.zeros(1, 5), 2, side=28).round(1).tolist()  # points on the corners' pixels, each 27 wide
    [[-13.0, -13.0, 54.0]]
    """
    center = (side + 1) / 2 * (windows[:, :2] + 1) - 0.5
    width = points * (side - 1) / max(points - 1, 1) * windows[:, 3:4].exp()
    return torch.cat([center - width / 2, width], 1).numpy()


@torch.no_grad()
def tightness(
    task: Drawing, x: Float[Tensor, "N A A"], draws: int, generator: torch.Generator
) -> Float[np.ndarray, "N 2"]:
    r"""For each picture the bound, mean over K draws of the codes, and the tighter one of the same draws.

    In nats. The tighter one is $-\log\frac1K\sum_k w_k$ of the draws' weights; its expectation is
    $-\log p(x)$ or more (Burda, Grosse, Salakhutdinov, 2015).
    """
    model = task.model
    assert isinstance(model, Draw)
    bound, weights = torch.zeros(len(x), dtype=torch.float64), []
    for _ in range(draws):
        noise = torch.randn(task.glimpses, len(x), task.codes, generator=generator)
        log_loss, divergence = model(x, noise)
        bound += (log_loss + divergence) / draws
        weights.append(model.log_weights(x, noise))
    tighter = math.log(draws) - torch.stack(weights).double().logsumexp(0)
    return torch.stack([bound, tighter], 1).numpy()
