r"""The page's models: a random layer, a network at random weights, a trained one and its rescaled copies.

The networks have two hidden layers and a softmax on a linear layer. At random weights (Section 5.2.2, first
paragraph: a block for each neuron) the layers are tanh of $g\odot\mathrm{norm}(Wx)+b$; the trained one has
biases in front of its norms, too.
"""

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy, log_softmax
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lnbook import data
from lnlib import LayerNorm
from lnlib.fisher import GGN
from lnlib.glm import GLM

FRONT = (0, 3)  # the layers in front of a norm


def random_model(family: str, norm: str, H: int, D: int, generator: torch.Generator) -> GLM:
    """Standard normal weights, normal biases, and gains around 1, in float64."""
    W, b, g = (torch.randn(*n, generator=generator, dtype=torch.float64) for n in ((H, D), (H,), (H,)))
    return GLM(family, W, b, norm=norm, gain=(g / 3).exp())


class Start(NamedTuple):
    """What a natural-gradient step from a network's weights needs, and what tells how far it went."""

    gradient: Float[Tensor, " P"]  # of the mean cross-entropy
    fisher: Float[Tensor, "P P"]  # the exact matrix
    neuron: Int[Tensor, " P"]  # that each parameter belongs to: weights, bias and gain
    divergence: Callable[[Tensor], float]  # of a step's predictions: mean Kullback-Leibler (nats)


def at_random_weights(
    X: Float[Tensor, "N D"], labels: Int[Tensor, " N"], norm: str | None, seed: int, *, units: int
) -> Start:
    r"""Norm "layer" or None, ten classes; weights of variance $1/D$, biases 0, gains 1."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential()
    for D, H in ((X.shape[1], units), (units, units), (units, 10)):
        hidden = len(model) < 2
        linear = nn.Linear(D, H, bias=not (norm and hidden), dtype=X.dtype)
        nn.init.normal_(linear.weight, std=D**-0.5, generator=generator)
        if linear.bias is not None:
            nn.init.zeros_(linear.bias)
        between = [LayerNorm(H, eps=0.0, dtype=X.dtype)] if norm and hidden else []
        model.append(nn.Sequential(linear, *between, *[nn.Tanh()] * hidden))
    parameters = list(model.parameters())
    gradient = torch.autograd.grad(cross_entropy(model(X), labels), parameters)
    neuron = [
        units * k + torch.arange(len(p)).repeat_interleave(p[0].numel())
        for k, layer in enumerate(model)
        for p in layer.parameters()
    ]

    @torch.no_grad()
    def divergence(step: Tensor) -> float:
        other = copy.deepcopy(model)
        vector_to_parameters(parameters_to_vector(parameters) + step, other.parameters())
        log_p, log_q = (log_softmax(network(X), -1) for network in (model, other))
        return float((log_p.exp() * (log_p - log_q)).sum(1).mean())

    return Start(parameters_to_vector(gradient), GGN(model, X).to_dense(), torch.cat(neuron), divergence)


def pooled_digits(cases: int) -> tuple[Float[Tensor, "N 16"], Int64[Tensor, " N"]]:
    """The first so many training digits, 8x8 pixels averaged in fours: none of the 16 is always blank."""
    x, y = (torch.from_numpy(part[:cases]) for part in data.load("digits").flat("train"))
    return avg_pool2d(x.double().unflatten(1, (1, 8, 8)), 2).flatten(1), y


def trained_network(
    x: Float[Tensor, "N 16"], y: Int64[Tensor, " N"], *, hidden: int, seed: int, steps: int
) -> nn.Sequential:
    r"""Layer norm with $\epsilon = 0$ in both hidden layers, after Adam's steps on all cases at once.

    It starts from weights $N(0, 1/D)$ and biases 0, in float64.
    """
    generator = torch.Generator().manual_seed(seed)
    layers: list[nn.Module] = []
    for inputs, units in pairwise((16, hidden, hidden)):
        layers += [nn.Linear(inputs, units), LayerNorm(units, eps=0.0), nn.Tanh()]
    model = nn.Sequential(*layers, nn.Linear(hidden, 10)).double()
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
            nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def stretched(model: nn.Sequential, factor: float) -> nn.Sequential:
    """A copy whose weights and biases in front of the norms are multiplied: the same function."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        for layer in FRONT:
            for p in other[layer].parameters():
                p.mul_(factor)
    return other
