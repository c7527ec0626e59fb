r"""The Fisher matrix of a small deep network, and how far a step moves its predictions.

Two hidden layers, tanh of $g\odot\mathrm{norm}(Wx)+b$, and a softmax on a linear layer. The parameters are
one vector, neuron by neuron: weights, bias, and for a normalized neuron its gain.
Source: Section 5.2.2, first paragraph; a block for each neuron.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import jacrev, vmap
from torch.nn.functional import cross_entropy, linear, log_softmax

from lnlib.norms import layer_norm


def _shapes(sizes: Sequence[int], norm: str | None) -> list[tuple[int, int]]:
    """Rows and columns of each layer's parameters; the last layer has no gain."""
    hidden, pairs = len(sizes) - 2, zip(sizes[1:], sizes[:-1], strict=True)
    return [(H, D + (2 if norm and k < hidden else 1)) for k, (H, D) in enumerate(pairs)]


def start(sizes: Sequence[int], norm: str | None, seed: int) -> Float[Tensor, " P"]:
    r"""Weights of variance $1/D$, biases 0, gains 1."""
    generator = torch.Generator().manual_seed(seed)
    layers = []
    for (H, columns), D in zip(_shapes(sizes, norm), sizes[:-1], strict=True):
        layer = torch.zeros(H, columns, dtype=torch.float64)
        layer[:, :D] = torch.randn(H, D, generator=generator, dtype=torch.float64) / D**0.5
        layer[:, D + 1 :] = 1
        layers.append(layer.flatten())
    return torch.cat(layers)


def neurons(sizes: Sequence[int], norm: str | None) -> Int[Tensor, " P"]:
    """The neuron that each parameter belongs to."""
    columns = torch.cat([torch.full((H,), n) for H, n in _shapes(sizes, norm)])
    return torch.arange(len(columns)).repeat_interleave(columns)


def logits(
    theta: Float[Tensor, " P"], x: Float[Tensor, "*batch D"], sizes: Sequence[int], norm: str | None
) -> Float[Tensor, "*batch K"]:
    """What the network says of x; norm is "layer" or None."""
    shapes = _shapes(sizes, norm)
    parts = theta.split([H * columns for H, columns in shapes])
    layers = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
    for layer in layers[:-1]:
        D = x.shape[-1]
        a = linear(x, layer[:, :D])
        if norm:
            a = layer[:, D + 1] * layer_norm(a, eps=0.0)
        x = torch.tanh(a + layer[:, D])
    return linear(x, layers[-1][:, :-1], layers[-1][:, -1])


def fisher(
    theta: Float[Tensor, " P"], X: Float[Tensor, "N D"], sizes: Sequence[int], norm: str | None
) -> Float[Tensor, "P P"]:
    r"""Eq. (9): the mean of $J^\top CJ$, J by autograd, C the covariance of the softmax's outcomes."""

    def jacobian(x: Tensor) -> Tensor:
        return jacrev(logits)(theta, x, sizes, norm)

    J = vmap(jacobian)(X)  # (N, K, P)
    p = logits(theta, X, sizes, norm).softmax(-1)[..., None]
    centered = p.sqrt() * (J - (p * J).sum(1, keepdim=True))
    rows = centered.flatten(0, 1)
    return rows.mT @ rows / len(X)


class Network(NamedTuple):
    """A network at random weights, and what a natural-gradient step from there needs."""

    gradient: Float[Tensor, " P"]  # of the mean cross-entropy
    fisher: Float[Tensor, "P P"]  # the exact matrix
    neuron: Int[Tensor, " P"]  # that each parameter belongs to
    divergence: Callable[
        [Float[Tensor, " P"]], float
    ]  # of a step's predictions: mean Kullback-Leibler (nats)


def at_random_weights(
    X: Float[Tensor, "N D"], labels: Int[Tensor, " N"], norm: str | None, seed: int, *, units: int
) -> Network:
    """Two hidden layers of so many units, norm "layer" or None, on cases of ten classes."""
    sizes = (X.shape[1], units, units, 10)
    theta = start(sizes, norm, seed).requires_grad_()
    loss = cross_entropy(logits(theta, X, sizes, norm), labels)
    (gradient,) = torch.autograd.grad(loss, theta)
    theta = theta.detach()

    def divergence(step: Tensor) -> float:
        log_p, log_q = (log_softmax(logits(t, X, sizes, norm), -1) for t in (theta, theta + step))
        return float((log_p.exp() * (log_p - log_q)).sum(1).mean())

    return Network(gradient, fisher(theta, X, sizes, norm), neurons(sizes, norm), divergence)
