r"""A small deep network at random weights: its Fisher matrix, and how far a step moves its predictions.

Two hidden layers, tanh of $g\odot\mathrm{norm}(Wx)+b$, and a softmax on a linear layer.
Source: Section 5.2.2, first paragraph; a block for each neuron.
"""

import copy
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lnlib import LayerNorm
from lnlib.fisher import GGN


class Network(NamedTuple):
    """A network at random weights, and what a natural-gradient step from there needs."""

    gradient: Float[Tensor, " P"]  # of the mean cross-entropy
    fisher: Float[Tensor, "P P"]  # the exact matrix
    neuron: Int[Tensor, " P"]  # that each parameter belongs to: weights, bias and gain
    divergence: Callable[[Tensor], float]  # of a step's predictions: mean Kullback-Leibler (nats)


def at_random_weights(
    X: Float[Tensor, "N D"], labels: Int[Tensor, " N"], norm: str | None, seed: int, *, units: int
) -> Network:
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

    return Network(parameters_to_vector(gradient), GGN(model, X).to_dense(), torch.cat(neuron), divergence)
