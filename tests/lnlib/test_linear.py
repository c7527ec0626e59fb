"""The linear layer on oneDNN, and the product it stands on, against torch's."""

from functools import partial

import glms
import pytest
import torch
from torch import nn

from lnlib import WeightNormLinear
from lnlib.linear import Linear, linear
from lnlib.matmul import product

draw = partial(glms.draw, dtype=torch.float32)


@pytest.fixture(autouse=True)
def small_products_are_onednns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lnlib.linear.SMALL", 1)
    monkeypatch.setattr("lnlib.matmul.SMALL", 1)


def pair(D: int, H: int, bias: bool = True) -> tuple[nn.Linear, Linear]:
    theirs, ours = nn.Linear(D, H, bias), Linear(D, H, bias)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


@pytest.mark.parametrize(
    ("shape", "H", "bias"),
    [
        ((128, 300), 200, True),
        ((1, 784), 100, False),
        ((0, 3), 2, True),
        ((20, 3, 60), 50, True),
        ((60,), 50, True),
    ],
)
def test_outputs_and_gradients_are_torchs(shape: tuple[int, ...], H: int, bias: bool) -> None:
    x, weights = draw(*shape), draw(*shape[:-1], H, seed=1)
    found = []
    for layer in pair(shape[-1], H, bias):
        leaf = x.clone().requires_grad_()
        a = layer(leaf)
        gradients = torch.autograd.grad((a * weights).sum(), [leaf, *layer.parameters()])
        found.append([a, *gradients])
    for theirs, ours in zip(*found, strict=True):
        # sums of up to 784 products of size 1 in float32, in another order
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=2e-5)


def test_it_differentiates_twice() -> None:
    x, weight = draw(64, 60).requires_grad_(), draw(50, 60).requires_grad_()
    second = []
    for function in (linear, nn.functional.linear):
        (first,) = torch.autograd.grad(function(x, weight).square().sum(), x, create_graph=True)
        second.append(torch.autograd.grad(first.square().sum(), [x, weight]))
    for ours, theirs in zip(*second, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-1)  # values of size 1e4


@pytest.mark.filterwarnings("ignore:TF32 acceleration:UserWarning")
def test_autocast_float64_functorch_and_a_switched_off_onednn_are_left_to_torch() -> None:
    theirs, ours = pair(60, 50)
    x = draw(64, 60)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(ours(x), theirs(x))
    with torch.backends.mkldnn.flags(enabled=False):
        assert "Addmm" in type(ours(x).grad_fn).__name__
        assert torch.equal(product(x, theirs.weight.detach().mT), x @ theirs.weight.detach().mT)
    per_case = torch.func.vmap(torch.func.grad(lambda row: ours(row).square().sum()))(x)
    torch.testing.assert_close(per_case, 2 * theirs(x) @ theirs.weight, rtol=1e-4, atol=1e-4)
    assert torch.equal(ours.double()(x.double()), theirs.double()(x.double()))


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("layer", [Linear(64, 64), WeightNormLinear(64, 64)])
def test_an_exported_layer_takes_any_batch(layer: nn.Module) -> None:
    cases = torch.export.Dim("cases")
    exported = torch.export.export(layer, (draw(9, 64),), dynamic_shapes=({0: cases},)).module()
    torch.testing.assert_close(exported(draw(70, 64)), layer(draw(70, 64)), rtol=1e-5, atol=1e-5)  # float32


@pytest.mark.parametrize("transposed", [False, True])
def test_the_product_takes_views_empty_matrices_and_gradients(transposed: bool) -> None:
    A, B = draw(30, 80)[:, 1:41], draw(40, 90)[:, ::2]
    A = A.mT.contiguous().mT if transposed else A
    exact = A.double() @ B.double()
    # sums of 40 products of size 1 in float32: about 4e-7; a lower precision would show as 1e-3
    assert float((product(A, B) - exact).norm() / exact.norm()) < 2e-6
    assert torch.equal(product(A[:, :0], B[:0]), torch.zeros(30, 45))
    leaf = A.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(product(leaf, B).sum(), leaf)
    torch.testing.assert_close(gradient, B.sum(1).expand(30, 40))
