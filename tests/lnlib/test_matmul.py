"""The product that every hot path shares."""

import pytest
import torch
from torch import Tensor

from lnlib import matmul
from lnlib.matmul import product


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def distance(a: Tensor, b: Tensor) -> float:
    return float(torch.linalg.norm(a - b) / torch.linalg.norm(b))


@pytest.mark.parametrize("onednn", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_product_in_float32_is_right_with_onednn_and_without(onednn, transposed, monkeypatch):
    A, B = draw(30, 40), draw(40, 50)
    A = A.mT.contiguous().mT if transposed else A
    if not onednn:
        monkeypatch.setattr(matmul, "ONEDNN", False)
        assert torch.equal(product(A, B), A @ B)
    # sums of 40 products of size 1 in float32: about 4e-7; a lower precision would show as 1e-3.
    assert distance(product(A, B).double(), A.double() @ B.double()) < 2e-6


def test_in_float64_the_product_is_torchs_own():
    A, B = draw(30, 40).double(), draw(40, 50).double()
    assert torch.equal(product(A, B), A @ B)


def test_the_product_takes_views_empty_matrices_and_gradients_in_float32():
    wide = draw(30, 80)
    A, B = wide[:, 1:41], draw(40, 90)[:, ::2]
    assert distance(product(A, B).double(), A.double() @ B.double()) < 2e-6  # as above
    assert torch.equal(product(A[:, :0], B[:0]), torch.zeros(30, 45))
    leaf = A.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(product(leaf, B).sum(), leaf)
    assert distance(gradient, B.sum(1).expand(30, 40)) < 2e-6
