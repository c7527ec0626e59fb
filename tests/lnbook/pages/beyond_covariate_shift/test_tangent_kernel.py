"""The largest eigenvalue by the tangent kernel, against the whole Fisher matrix, under a norm."""

import pytest
import torch
from torch import nn

from lnbook.pages.beyond_covariate_shift.tangent_kernel import largest, normed, random_network, tangent_kernel
from lnlib import LayerNorm
from lnlib.fisher import GGN


def test_a_norm_of_the_outputs_on_both_sides_is_a_network_that_ends_in_it():
    generator = torch.Generator().manual_seed(3)
    weights = random_network((6, 6, 6, 4), generator)
    x = torch.randn(5, 6, generator=generator, dtype=torch.float64)
    layers = []
    for W in weights:
        layers += [nn.Linear(W.shape[1], W.shape[0], bias=False, dtype=W.dtype), nn.ReLU()]
        layers[-2].weight.data = W
    norm = LayerNorm(4, eps=0.0, elementwise_affine=False)
    expected = torch.linalg.eigvalsh(GGN(nn.Sequential(*layers[:-1], norm), x, "gaussian").to_dense())[-1]
    z, kernel = tangent_kernel(weights, x)
    # rounding of Lanczos' method and of matrices that are multiplied in another order
    assert largest(normed(kernel, z, 1)) / len(x) == pytest.approx(float(expected), rel=1e-10)
