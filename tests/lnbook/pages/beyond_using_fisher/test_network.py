"""The network of the page: stretched weights are the same function."""

import torch

from lnbook.pages.beyond_using_fisher.network import network, pooled_digits, stretched


def test_stretched_weights_are_the_same_function():
    x, _ = pooled_digits(20)
    model = network(6, torch.Generator().manual_seed(1))
    other = stretched(model, 5)
    assert torch.equal(other[0].weight, 5 * model[0].weight)
    assert torch.equal(other[6].weight, model[6].weight)
    with torch.no_grad():
        assert float((other(x) - model(x)).abs().max()) < 1e-13  # rounding of numbers near 1
