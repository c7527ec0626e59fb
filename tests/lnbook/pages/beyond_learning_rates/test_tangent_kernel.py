"""The largest eigenvalue by the tangent kernel, against the whole Fisher matrix, with and without norms."""

import torch
from torch import nn

from lnbook.pages.beyond_learning_rates.sharpness import largest, random_network, tangent_kernel
from lnlib import LayerNorm
from lnlib.fisher import GGN

ROUNDING = 1e-10  # of Lanczos' method and of matrices that are multiplied in another order


def case(width=6, cases=5, outputs=4):
    generator = torch.Generator().manual_seed(3)
    weights = random_network(width, generator, depth=2, outputs=outputs)
    return weights, torch.randn(cases, width, generator=generator, dtype=torch.float64)


def module(weights, *last):
    layers = []
    for W in weights:
        layer = nn.Linear(W.shape[1], W.shape[0], bias=False, dtype=W.dtype)
        layer.weight.data = W.clone()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1], *last)


def top(F):
    return float(torch.linalg.eigvalsh(F)[-1])


def derivative(norm, z):
    """The norm's Jacobian as a map, by automatic differentiation."""
    J = torch.autograd.functional.jacobian(norm, z).reshape(z.numel(), z.numel())
    return lambda v: J @ v


def test_a_norm_of_the_outputs_on_both_sides_is_a_network_that_ends_in_it():
    weights, x = case()
    z, kernel = tangent_kernel(weights, x)
    model = module(weights, LayerNorm(4, eps=0.0, elementwise_affine=False))
    expected = top(GGN(model, x, "gaussian").to_dense())
    found = largest(kernel, derivative(model[-1], z)) / len(x)
    assert abs(found / expected - 1) < ROUNDING
