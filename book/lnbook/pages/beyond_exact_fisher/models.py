r"""The page's models.

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
from torch.nn.functional import avg_pool2d, cross_entropy, kl_div, log_softmax
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lnbook import data
from lnlib import LayerNorm
from lnlib.fisher import GGN
from lnlib.glm import GLM


def random_model(family: str, norm: str, H: int, D: int, generator: torch.Generator) -> GLM:
    """Standard normal weights, normal biases, and gains around 1, in float64."""
    W, b, g = (torch.randn(*n, generator=generator, dtype=torch.float64) for n in ((H, D), (H,), (H,)))
    return GLM(family, W, b, norm=norm, gain=(g / 3).exp())


def network(inputs: int, units: int, seed: int, *, norm: bool, bias: bool) -> nn.Sequential:
    """Two hidden layers of tanh and ten logits, in float64: weights N(0, 1/D), biases 0, gains 1."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential()
    for D, H in pairwise((inputs, units, units)):
        model.append(nn.Linear(D, H, bias=bias))
        if norm:
            model.append(LayerNorm(H, eps=0.0))
        model.append(nn.Tanh())
    model.append(nn.Linear(units, 10)).double()
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return model


class Start(NamedTuple):
    """What a natural-gradient step from a network's weights needs, and what tells how far it went."""

    gradient: Float[Tensor, " P"]  # of the mean cross-entropy
    fisher: Float[Tensor, "P P"]  # the exact matrix
    neuron: Int[Tensor, " P"]  # that each parameter belongs to: weights, bias and gain
    divergence: Callable[[Tensor], float]  # of a step's predictions: mean Kullback-Leibler (nats)


def at_random_weights(
    X: Float[Tensor, "N D"], labels: Int[Tensor, " N"], norm: str | None, seed: int, *, units: int
) -> Start:
    """Norm "layer" or None."""
    model = network(X.shape[1], units, seed, norm=norm is not None, bias=norm is None)
    parameters = list(model.parameters())
    gradient = torch.autograd.grad(cross_entropy(model(X), labels), parameters)
    neuron, first = [], -units
    for layer in model:
        first += units * isinstance(layer, nn.Linear)
        neuron += [first + torch.arange(len(p)).repeat_interleave(p[0].numel()) for p in layer.parameters()]

    @torch.no_grad()
    def divergence(step: Tensor) -> float:
        other = copy.deepcopy(model)
        vector_to_parameters(parameters_to_vector(parameters) + step, other.parameters())
        log_p, log_q = (log_softmax(net(X), -1) for net in (model, other))
        return float(kl_div(log_q, log_p, reduction="batchmean", log_target=True))

    return Start(parameters_to_vector(gradient), GGN(model, X).to_dense(), torch.cat(neuron), divergence)


def pooled_digits(cases: int) -> tuple[Float[Tensor, "N 16"], Int64[Tensor, " N"]]:
    """The first so many training digits, 8x8 pixels averaged in fours: none of the 16 is always blank."""
    x, y = (torch.from_numpy(part[:cases]) for part in data.load("digits").flat("train"))
    return avg_pool2d(x.double().unflatten(1, (1, 8, 8)), 2).flatten(1), y


def trained_network(
    x: Float[Tensor, "N 16"], y: Int64[Tensor, " N"], *, hidden: int, seed: int, steps: int
) -> nn.Sequential:
    """Layer norm in both hidden layers, after Adam's steps on all cases at once."""
    model = network(16, hidden, seed, norm=True, bias=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def stretched(model: nn.Sequential, factor: float) -> nn.Sequential:
    """A copy whose weights and biases in front of the norms are multiplied: the same function."""
    other = copy.deepcopy(model)
    for p in (*other[0].parameters(), *other[3].parameters()):
        p.data.mul_(factor)
    return other
