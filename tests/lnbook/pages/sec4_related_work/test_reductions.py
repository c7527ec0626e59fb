"""Recurrent batch norm as a plain network, step by step; the path norm, against a walk along every path."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch

import lnlib
from lnbook.pages.sec4_related_work.reductions import path_norm, plain_steps


@pytest.mark.parametrize("seed", range(5))
def test_the_path_norm_is_the_sum_over_every_path(seed: int) -> None:
    draw = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float64}
    layers = [(torch.randn(n, m, **draw), torch.randn(n, **draw)) for m, n in pairwise((3, 4, 2, 2))]

    def paths(layer: int, unit: int) -> Iterator[float]:
        """The product of squared weights along each path to a unit, from an input or a bias."""
        if layer < 0:
            yield 1.0
            return
        W, b = layers[layer]
        yield float(b[unit]) ** 2
        for k, w in enumerate(W[unit]):
            yield from (float(w) ** 2 * before for before in paths(layer - 1, k))

    every = sum(product for unit in (0, 1) for product in paths(2, unit))
    assert float(path_norm(layers)) == pytest.approx(every**0.5, rel=1e-12)  # a few hundred roundings


def test_in_evaluation_recurrent_batch_norm_is_a_plain_network_with_other_weights_at_each_step() -> None:
    draw = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}
    rnn = lnlib.RNN(3, 4, norm="batch", max_steps=6).double()
    for p in rnn.parameters():
        p.data.copy_(torch.randn(p.shape, **draw))
    for _ in range(3):
        rnn(torch.randn(6, 8, 3, **draw))
    x, h = torch.randn(6, 2, 3, **draw), torch.zeros(2, 4, dtype=torch.float64)
    states = rnn.eval()(x)[0]
    for x_t, expected, (U, V, c) in zip(x, states, plain_steps(rnn), strict=True):
        h = torch.tanh(x_t @ U.T + h @ V.T + c)
        torch.testing.assert_close(h, expected, rtol=0, atol=1e-12)
