"""What a DRAW model paints and where, and how far its bound is from the likelihood."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.pages.sec6_4_draw.experiment import Drawing
from lnbook.pages.sec6_4_draw.model import Draw


@torch.no_grad()
def strokes(
    model: Draw, noise: Float[Tensor, "T N Z"]
) -> tuple[Float[np.ndarray, "T N A A"], Float[np.ndarray, "T N 3"]]:
    """Of pictures that the model makes up, the probability of each pixel after each glimpse, and left edge,
    top edge and width of each stroke's window; pixels span 0 to 1, 1 to 2, ...
    """
    steps = list(model.unroll(noise))
    pictures = torch.stack([step.canvas.sigmoid() for step in steps]).numpy()
    return pictures, np.stack([box(step.write, model.points[1], model.side) for step in steps])


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
    bound, weights = torch.zeros(len(x), dtype=torch.float64), []
    for _ in range(draws):
        noise = torch.randn(task.glimpses, len(x), task.codes, generator=generator)
        log_loss, divergence = task.model(x, noise)
        bound += (log_loss + divergence) / draws
        weights.append(task.model.log_weights(x, noise))
    tighter = math.log(draws) - torch.stack(weights).double().logsumexp(0)
    return torch.stack([bound, tighter], 1).numpy()
