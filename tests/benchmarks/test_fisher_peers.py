"""The Fisher matrix against other people's implementations, at sizes where every entry can be compared."""

from collections.abc import Iterator

import pytest
import torch
from fisher_peers import PRODUCTS, dense, order
from torch import Tensor

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher, printed_eq13


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    """nngeometry makes float32 constants unless this is the default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def model_and_cases(norm: str | None) -> tuple[GLM, Tensor]:
    draw = torch.Generator().manual_seed(3)
    W, b, g = torch.randn(5, 7, generator=draw), torch.randn(5, generator=draw), torch.rand(5, generator=draw)
    gain, eps = (None, 0.0) if norm is None else (0.5 + g, 1e-5)
    return GLM("categorical", W, b, norm=norm, gain=gain, eps=eps), 3 * torch.randn(40, 7, generator=draw) + 1


def assert_equal(theirs: Tensor, ours: Tensor) -> None:
    # 1e-10 relative: five digits above the round-off of both, ten below any term that could be missing.
    assert torch.linalg.norm(theirs - ours) <= 1e-10 * torch.linalg.norm(ours)


@pytest.mark.parametrize("library", ["nngeometry", "curvlinops", "torch.func"])
@pytest.mark.parametrize("norm", [None, "layer"])
def test_the_matrix_is_the_one_of_other_libraries(library, norm):
    glm, X = model_and_cases(norm)
    at = order(glm)
    assert_equal(dense(glm, X)[library]()[at][:, at], fisher(glm, X))


def test_the_matrix_without_a_norm_is_the_one_of_backpack():
    glm, X = model_and_cases(None)
    at = order(glm)
    assert_equal(dense(glm, X)["BackPACK"]()[at][:, at], fisher(glm, X))


@pytest.mark.parametrize("library", PRODUCTS)
@pytest.mark.parametrize("norm", [None, "layer"])
def test_products_are_those_of_other_libraries(library, norm):
    glm, X = model_and_cases(norm)
    at, F = order(glm), FisherOperator(glm, X)
    v = torch.randn(F.shape[0], generator=torch.Generator().manual_seed(4))
    theirs = torch.empty_like(v)
    theirs[at] = v
    assert_equal(PRODUCTS[library](glm, X)(theirs)[at], F @ v)


def test_the_printed_matrix_of_layer_norm_is_not_theirs():
    glm, X = model_and_cases("layer")
    at, printed = order(glm), printed_eq13(glm, X)
    theirs = dense(glm, X)["curvlinops"]()[at][:, at]
    # H = 5: the terms between units that Eq. (13) leaves out are about 1.3 / sqrt(5) of the weight block.
    assert torch.linalg.norm(theirs - printed) > 0.1 * torch.linalg.norm(theirs)
