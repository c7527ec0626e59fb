"""The path norm, against a walk along every path, and its invariance."""

from itertools import pairwise, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.sec4_related_work.path_norm import Layer, forward, path_curvature, path_norm, rescale, step


def network(seed: int, sizes: tuple[int, ...] = (3, 4, 2, 2)) -> list[Layer]:
    g = torch.Generator().manual_seed(seed)
    draw = {"generator": g, "dtype": torch.float64}
    return [(torch.randn(n, m, **draw), torch.randn(n, **draw)) for m, n in pairwise(sizes)]


def cases(seed: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(9, 3, generator=g, dtype=torch.float64)


def factors(seed: int) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(n, generator=g, dtype=torch.float64).exp() for n in (4, 2)]


def every_path(layers: list[Layer]) -> float:
    """The sum over paths, one after the other: from an input or from some layer's constant unit."""
    total = 0.0
    for start in range(-1, len(layers)):
        if start < 0:
            units, first = [range(layers[0][0].shape[1])], 0
        else:
            units, first = [], start
        for path in product(*units, *(range(len(b)) for _, b in layers[first:])):
            weight = 1.0
            for k, (W, b) in enumerate(layers[first:]):
                if start >= 0 and k == 0:
                    weight *= float(b[path[0]])
                else:
                    at = k if start >= 0 else k + 1
                    weight *= float(W[path[at], path[at - 1]])
            total += weight**2
    return total**0.5


@given(st.integers(0, 20))
def test_the_path_norm_is_the_sum_over_every_path(seed: int) -> None:
    layers = network(seed)
    assert float(path_norm(layers)) == pytest.approx(every_path(layers), rel=1e-12)  # a few hundred roundings


@given(st.integers(0, 20))
def test_rescaling_units_changes_neither_the_function_nor_the_path_norm(seed: int) -> None:
    layers, x = network(seed), cases(seed)
    other = rescale(layers, factors(seed))
    torch.testing.assert_close(forward(other, x), forward(layers, x), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(path_norm(other), path_norm(layers), rtol=1e-12, atol=0)
    squares = [sum(float(W.square().sum()) for W, _ in net) for net in (layers, other)]
    assert squares[1] != pytest.approx(squares[0], rel=0.01)  # the control: plain norms do change


@given(st.integers(0, 10))
def test_the_curvature_is_half_the_second_derivative_of_the_squared_norm(seed: int) -> None:
    layers = network(seed)
    for k, (W, b) in enumerate(layers):
        found = path_curvature(layers)[k]

        def of(w: torch.Tensor, v: torch.Tensor, k: int = k) -> torch.Tensor:
            return path_norm([*layers[:k], (w, v), *layers[k + 1 :]]).square()

        second = torch.autograd.functional.hessian(of, (W, b))
        for which, p in enumerate((W, b)):
            diagonal = second[which][which].reshape(p.numel(), p.numel()).diagonal().view_as(p)
            torch.testing.assert_close(found[which], diagonal / 2, rtol=1e-10, atol=1e-12)


def test_a_step_of_path_sgd_commutes_with_rescaling_and_plain_descent_does_not() -> None:
    layers, x = network(1), cases(0)
    other, y = rescale(layers, factors(2)), torch.zeros(9, 2, dtype=torch.float64)
    before = forward(layers, x)
    apart = {}
    for by_path in (False, True):
        one, two = (forward(step(net, x, y, 0.01, by_path=by_path), x) for net in (layers, other))
        assert float((one - before).abs().max()) > 1e-3  # it moves
        apart[by_path] = float((one - two).abs().max())
    assert apart[True] < 1e-10  # quotients of numbers up to exp(6)
    assert apart[False] > 1e-3


def test_a_plain_step_is_torch_s() -> None:
    layers, x = network(3), cases(3)
    y = torch.ones(9, 2, dtype=torch.float64)
    model = torch.nn.Sequential(
        *(m for W, _ in layers for m in (torch.nn.Linear(*W.shape[::-1]), torch.nn.ReLU()))
    )
    model = model[:-1].double()
    with torch.no_grad():
        for p, q in zip(model.parameters(), (q for layer in layers for q in layer), strict=True):
            p.copy_(q)
    torch.nn.functional.mse_loss(model(x), y).backward()
    torch.optim.SGD(model.parameters(), 0.1).step()
    moved = [q for layer in step(layers, x, y, 0.1) for q in layer]
    for p, q in zip(model.parameters(), moved, strict=True):
        torch.testing.assert_close(p.detach(), q, rtol=1e-12, atol=1e-12)


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="no layers"):
        path_norm([])
    layers = network(0)
    with pytest.raises(ValueError, match="takes 2 inputs"):
        path_norm([layers[0], layers[2]])
    with pytest.raises(ValueError, match="need as many vectors"):
        rescale(layers, [])
    with pytest.raises(ValueError, match="positive"):
        rescale(layers, [-c for c in factors(0)])
