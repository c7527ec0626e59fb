"""The network of the page: what it reads, that it learns, and that stretched weights change nothing."""

import torch
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_using_fisher.network import network, pooled_digits, stretched, train


def test_the_digits_are_averaged_in_fours_and_no_pixel_is_always_blank():
    x, y = pooled_digits(200)
    assert x.shape == (200, 16)
    assert y.shape == (200,)
    assert x.dtype == torch.float64
    assert bool((x.amax(0) > 0).all())
    assert 0 <= float(x.min()) < float(x.max()) <= 1


def test_a_generator_decides_the_network_and_it_learns():
    x, y = pooled_digits(100)
    one, two = (network(6, torch.Generator().manual_seed(1)) for _ in range(2))
    with torch.no_grad():
        assert torch.equal(one(x), two(x))
        before = float(cross_entropy(one(x), y))
    learned = train(one, x, y, 60)
    with torch.no_grad():
        assert float(cross_entropy(learned(x), y)) < before / 2


def test_stretched_weights_are_the_same_function():
    x, _ = pooled_digits(20)
    model = network(6, torch.Generator().manual_seed(1))
    other = stretched(model, 5)
    assert torch.equal(other[0].weight, 5 * model[0].weight)
    assert torch.equal(other[6].weight, model[6].weight)
    with torch.no_grad():
        assert float((other(x) - model(x)).abs().max()) < 1e-13  # rounding of numbers near 1
