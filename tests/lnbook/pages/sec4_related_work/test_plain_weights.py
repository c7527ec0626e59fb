"""Recurrent batch norm as a plain network, step by step; the path norm, against a walk along every path."""

import math
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lnlib
from lnbook.pages.sec4_related_work.plain_weights import path_norm, plain_steps

Layer = tuple[torch.Tensor, torch.Tensor]


def network(seed: int) -> list[Layer]:
    draw = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float64}
    return [(torch.randn(n, m, **draw), torch.randn(n, **draw)) for m, n in pairwise((3, 4, 2, 2))]


def every_path(layers: list[Layer]) -> float:
    """The sum over paths, one after the other; the last unit is always 1 and has the biases for weights."""
    matrices = []
    for W, b in layers:
        one = torch.eye(W.shape[1] + 1, dtype=W.dtype)[-1:]
        matrices.append(torch.cat([torch.cat([W, b[:, None]], 1), one]))
    units = [range(M.shape[1]) for M in matrices] + [range(len(layers[-1][1]))]
    return sum(
        math.prod(float(M[j, i]) ** 2 for M, (i, j) in zip(matrices, pairwise(path), strict=True))
        for path in product(*units)
    )


@given(st.integers(0, 20))
def test_the_path_norm_is_the_sum_over_every_path(seed: int) -> None:
    layers = network(seed)
    # a few hundred roundings
    assert float(path_norm(layers)) == pytest.approx(every_path(layers) ** 0.5, rel=1e-12)


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
