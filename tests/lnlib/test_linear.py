"""The linear layer on oneDNN against torch's."""

import pytest
import torch
from torch import Tensor, nn

from lnlib.linear import Linear, linear

SHAPES = [(128, 300, 200), (4, 784, 1000), (1, 784, 1000), (7, 3, 2), (0, 3, 2)]


@pytest.fixture(autouse=True)
def small_products_are_onednns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lnlib.linear.SMALL", 1)


def draw(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype)


def pair(D: int, H: int, **options: object) -> tuple[nn.Linear, Linear]:
    theirs, ours = nn.Linear(D, H, **options), Linear(D, H, **options)  # type: ignore[arg-type]
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("N", "D", "H"), SHAPES)
def test_outputs_and_gradients_are_torchs(N: int, D: int, H: int, bias: bool) -> None:
    x, weights = draw(N, D), draw(N, H)
    found = []
    for layer in pair(D, H, bias=bias):
        leaf = x.clone().requires_grad_()
        a = layer(leaf)
        gradients = torch.autograd.grad((a * weights).sum(), [leaf, *layer.parameters()])
        found.append([a, *gradients])
    for theirs, ours in zip(*found, strict=True):
        # sums of up to 1000 products of size 1 in float32, in another order
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=2e-5)


def test_a_small_product_is_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lnlib.linear.SMALL", 64 * 60 * 50 + 1)
    theirs, ours = pair(60, 50)
    x = draw(64, 60)
    assert torch.equal(ours(x), theirs(x))
    assert "AddmmBackward" in type(ours(x).grad_fn).__name__


def test_axes_before_the_last_count_as_cases() -> None:
    theirs, ours = pair(60, 50)
    x = draw(20, 3, 60)
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(ours(x[0, 0]), theirs(x[0, 0]))


def test_it_differentiates_twice() -> None:
    x = draw(64, 60).requires_grad_()
    weight = draw(50, 60).requires_grad_()
    second = []
    for product in (linear, nn.functional.linear):
        (first,) = torch.autograd.grad(product(x, weight).square().sum(), x, create_graph=True)
        second.append(torch.autograd.grad(first.square().sum(), [x, weight]))
    for ours, theirs in zip(*second, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-1)  # values of size 1e4


def test_float64_autocast_functorch_and_compile_are_left_to_torch() -> None:
    theirs, ours = pair(60, 50)
    x = draw(64, 60)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(ours(x), theirs(x))
    assert torch.equal(ours.double()(x.double()), theirs.double()(x.double()))
    theirs, ours = theirs.float(), ours.float()
    ours.float()
    per_case = torch.func.vmap(torch.func.grad(lambda row: ours(row).square().sum()))(x)
    expected = 2 * theirs(x) @ theirs.weight
    torch.testing.assert_close(per_case, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("as_users_call")
def test_a_wrong_width_is_torchs_own_error() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        Linear(60, 50)(draw(64, 59))
