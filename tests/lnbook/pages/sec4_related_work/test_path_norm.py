"""The path norm, against a walk along every path, and its invariance."""

import math
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.sec4_related_work.path_norm import Layer, forward, path_curvature, path_norm, rescale, step


def network(seed: int) -> list[Layer]:
    draw = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float64}
    return [(torch.randn(n, m, **draw), torch.randn(n, **draw)) for m, n in pairwise((3, 4, 2, 2))]


def rescaled(layers: list[Layer]) -> list[Layer]:
    draw = {"generator": torch.Generator().manual_seed(9), "dtype": torch.float64}
    return rescale(layers, [torch.randn(n, **draw).exp() for n in (4, 2)])


X = torch.randn(9, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


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


def test_the_curvature_is_half_the_second_derivative_of_the_squared_norm() -> None:
    layers = network(0)
    parameters = tuple(q for layer in layers for q in layer)
    second = torch.autograd.functional.hessian(
        lambda *p: path_norm(list(zip(p[::2], p[1::2], strict=True))).square(), parameters
    )
    for k, kappa in enumerate(path_curvature(layers)):
        diagonal = second[k][k].reshape(kappa.numel(), -1).diagonal()
        torch.testing.assert_close(kappa.flatten(), diagonal / 2, rtol=1e-10, atol=1e-12)


def test_a_step_of_path_sgd_commutes_with_rescaling_and_plain_descent_does_not() -> None:
    layers, y = network(1), torch.zeros(9, 2, dtype=torch.float64)
    before, apart = forward(layers, X), {}
    for by_path in (False, True):
        nets = [step(net, X, y, 0.001, by_path=by_path) for net in (layers, rescaled(layers))]
        one, two = (forward(net, X) for net in nets)
        assert one.square().sum() < before.square().sum()  # it descends
        apart[by_path] = float((one - two).abs().max())
    assert apart[True] < 1e-10  # quotients of numbers up to exp(6)
    assert apart[False] > 1e-3
