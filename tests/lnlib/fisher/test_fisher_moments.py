"""The hot path of the dense Fisher matrix against the sum it stands for."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lnlib import GLM
from lnlib.fisher import assemble, fisher, moments
from lnlib.fisher.moments import FEW_FEATURES, put_second_moments


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
