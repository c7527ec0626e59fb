"""The path norm, against a walk along every path."""

import math
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.sec4_related_work.plain_weights import path_norm

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
