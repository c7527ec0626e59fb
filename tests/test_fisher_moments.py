"""The hot path of the dense Fisher matrix against the sum it stands for."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lnlib import GLM
from lnlib.fisher import assemble, fisher, moments
from lnlib.fisher.moments import FEW_FEATURES, product, put_second_moments


def draw(N: int, H: int, D: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Symmetric S, and features."""
    generator = torch.Generator().manual_seed(N + H + D)
    S = torch.randn(N, H, H, generator=generator, dtype=dtype)
    return S + S.mT, torch.randn(N, D, generator=generator, dtype=dtype)


def computed(S: Tensor, X: Tensor) -> Tensor:
    H, D = S.shape[1], X.shape[1]
    i, j = torch.triu_indices(H, H)
    out = torch.full((H, D, H, D), torch.nan, dtype=X.dtype)
    put_second_moments(out, S[:, i, j], X, add=False)
    return out


def literal(S: Tensor, X: Tensor) -> Tensor:
    return torch.einsum("nij,nd,ne->idje", S, X, X)


def distance(a: Tensor, b: Tensor) -> float:
    return float(torch.linalg.norm(a - b) / torch.linalg.norm(b))


@given(N=st.integers(1, 9), H=st.integers(1, 5), D=st.integers(1, 12))
def test_second_moments_are_the_literal_sum(N, H, D):
    S, X = draw(N, H, D)
    assert distance(computed(S, X), literal(S, X)) < 1e-14  # sums of at most 9 products: round-off


@pytest.mark.parametrize("D", [FEW_FEATURES, FEW_FEATURES + 1, 256, 257])
def test_few_and_many_features_have_the_same_second_moments(D):
    S, X = draw(6, 3, D)
    assert distance(computed(S, X), literal(S, X)) < 1e-14  # as above


@pytest.mark.parametrize("D", [5, FEW_FEATURES + 1])
def test_second_moments_can_be_added_to_what_is_there(D):
    S, X = draw(6, 3, D)
    i, j = torch.triu_indices(3, 3)
    out = torch.ones(3, D + 2, 3, D + 2, dtype=X.dtype)  # blocks inside a larger matrix
    put_second_moments(out[:, :D, :, :D], S[:, i, j], X, add=True)
    assert distance(out[:, :D, :, :D] - 1, literal(S, X)) < 1e-13  # a digit goes with the 1
    assert (out[:, D:] == 1).all()
    assert (out[..., D:] == 1).all()


@pytest.mark.parametrize("norm", [None, "batch", "weight", "layer", "rms"])
def test_the_size_of_the_parts_does_not_change_the_matrix(norm, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    W, X = (torch.randn(n, 6, generator=generator, dtype=torch.float64) for n in (4, 30))
    glm = GLM("categorical", W, W.new_zeros(4), norm=norm)
    whole = fisher(glm, X)
    monkeypatch.setattr(assemble, "CHUNK_NUMBERS", 70)  # 7 cases
    monkeypatch.setattr(assemble, "CACHE_NUMBERS", 48)  # 3 cases
    monkeypatch.setattr(moments, "UNFOLD_NUMBERS", 42)  # 2 cases
    assert distance(fisher(glm, X), whole) < 1e-14  # the order of a sum over 30 cases


@pytest.mark.parametrize("onednn", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_product_in_float32_is_right_with_onednn_and_without(onednn, transposed, monkeypatch):
    A, B = draw(30, 1, 40, torch.float32)[1], draw(40, 1, 50, torch.float32)[1]
    A = A.mT.contiguous().mT if transposed else A
    if not onednn:
        monkeypatch.setattr(moments, "_onednn", lambda: False)
        assert torch.equal(product(A, B), A @ B)
    # sums of 40 products of size 1 in float32: about 4e-7; a lower precision would show as 1e-3.
    assert distance(product(A, B).double(), A.double() @ B.double()) < 2e-6


def test_in_float64_the_product_is_torchs_own():
    A, B = draw(30, 1, 40)[1], draw(40, 1, 50)[1]
    assert torch.equal(product(A, B), A @ B)


def test_the_product_takes_views_empty_matrices_and_gradients_in_float32():
    wide = draw(30, 1, 80, torch.float32)[1]
    A, B = wide[:, 1:41], draw(40, 1, 90, torch.float32)[1][:, ::2]
    assert distance(product(A, B).double(), A.double() @ B.double()) < 2e-6  # as above
    assert torch.equal(product(A[:, :0], B[:0]), torch.zeros(30, 45))
    leaf = A.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(product(leaf, B).sum(), leaf)
    assert distance(gradient, B.sum(1).expand(30, 40)) < 2e-6
