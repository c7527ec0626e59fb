"""A small network with two norms on scikit-learn's digits, and other weights of the same function."""

import copy
from itertools import pairwise

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy

from lnbook import data
from lnlib import LayerNorm

FRONT = (0, 3)  # the layers in front of a norm


def pooled_digits(cases: int) -> tuple[Float[Tensor, "N 16"], Int64[Tensor, " N"]]:
    """The first so many training digits, 8x8 pixels averaged in fours: none of the 16 is always blank."""
    x, y = (torch.from_numpy(part[:cases]) for part in data.load("digits").flat("train"))
    return avg_pool2d(x.double().unflatten(1, (1, 8, 8)), 2).flatten(1), y


def network(hidden: int, generator: torch.Generator) -> nn.Sequential:
    r"""Two hidden layers with layer norm, $\epsilon = 0$, and a softmax; weights $N(0, 1/D)$, in float64."""
    sizes = (16, hidden, hidden)
    layers: list[nn.Module] = []
    for inputs, units in pairwise(sizes):
        layers += [nn.Linear(inputs, units), LayerNorm(units, eps=0.0), nn.Tanh()]
    model = nn.Sequential(*layers, nn.Linear(hidden, 10)).double()
    with torch.no_grad():
        for layer in model:
            if isinstance(layer, nn.Linear):
                layer.weight.normal_(0, layer.in_features**-0.5, generator=generator)
                layer.bias.zero_()
    return model


def train(model: nn.Sequential, x: Float[Tensor, "N D"], y: Int64[Tensor, " N"], steps: int) -> nn.Sequential:
    """The model after so many steps of Adam on all cases at once."""
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
