"""Deep networks learn the digits of scikit-learn; then one block at a time is left out."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float

from lnbook.pages.beyond_transformers.residual_gradients import Place, branch, draw
from lnbook.shared import residual_networks
from lnbook.shared.digits import Cases
from lnbook.shared.residual_networks import Method, Networks, scores
from lnlib.norms import layer_norm

Size = tuple[int, int, int, float]  # blocks, units, updates, Adam's learning rate
SIZES = {"smoke": (6, 16, 40, 3e-3), "book": (12, 32, 200, 2e-3), "study": (12, 32, 200, 2e-3)}


def train(place: Place, cases: Cases, seeds: Sequence[int], size: Size) -> Networks:
    """Networks after Adam; those of a seed begin with the same weights and see the same cases anywhere.

    Each is a linear map into the stream, the blocks, a layer norm and a linear map out of it.
    """
    depth, width, updates, rate = size
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    stacks = [draw(depth, width, g) for g in generators]
    blocks = [[torch.stack(Ws) for Ws in zip(*block, strict=True)] for block in zip(*stacks, strict=True)]
    W1, W2 = (torch.stack(Ws).float() for Ws in zip(*blocks, strict=True))
    into, out = (
        torch.stack([torch.randn(shape, generator=g) for g in generators]) / math.sqrt(shape[0])
        for shape in ((cases[0].shape[1], width), (width, 10))
    )
    number = torch.arange(1.0, depth + 1)[:, None, None, None].expand(-1, len(seeds), 1, 1)
    method = Method(
        lambda x, p: place(x, branch((p["W1"], p["W2"])), p["number"], depth),
        lambda x, p: layer_norm(x, eps=0.0),
    )
    networks = Networks(method, seeds, into, {"W1": W1, "W2": W2, "number": number}, out)
    return residual_networks.train(networks, cases, (rate,), updates, orders=generators)


def cost(networks: Networks, cases: Cases) -> Float[np.ndarray, "S depth"]:
    """The loss without block k less the loss with all, for every k: one whose W2 is 0 adds nothing."""
    (whole,), _ = scores(networks, cases)
    found = []
    for k in range(len(networks.stack["W2"])):
        W2 = networks.stack["W2"].clone()
        W2[k] = 0
        (loss,), _ = scores(replace(networks, stack={**networks.stack, "W2": W2}), cases)
        found.append(loss - whole)
    return np.stack(found, 1)
