"""The Fisher matrix against other people's implementations, at sizes where every entry can be compared."""

from collections.abc import Iterator

import pytest
import torch
from fisher import dense, order, product
from glms import relative
from torch import Tensor

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher, printed_eq13

ROUND_OFF = 1e-10  # five digits above that of both, ten below any term that could be missing


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


@pytest.mark.parametrize("norm", [None, "layer"])
def test_matrix_and_products_are_those_of_other_libraries(norm):
    glm, X = model_and_cases(norm)
    at = order(glm)
    for library, matrix in dense(glm, X).items():
        assert relative(matrix()[at][:, at], fisher(glm, X)) < ROUND_OFF, library
    v = torch.randn(len(at), generator=torch.Generator().manual_seed(4))
    theirs = torch.empty_like(v)
    theirs[at] = v
    assert relative(product(glm, X)(theirs)[at], FisherOperator(glm, X) @ v) < ROUND_OFF


def test_the_printed_matrix_of_layer_norm_is_not_theirs():
    glm, X = model_and_cases("layer")
    at = order(glm)
    # H = 5: the terms between units that Eq. (13) leaves out are about 1.3 / sqrt(5) of the weight block.
    assert relative(printed_eq13(glm, X), dense(glm, X)["curvlinops"]()[at][:, at]) > 0.1
