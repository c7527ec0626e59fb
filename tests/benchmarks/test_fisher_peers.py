"""The Fisher matrix against other people's implementations, at sizes where every entry can be compared."""

import warnings
from collections.abc import Iterator

import pytest
import torch
from glms import relative
from nngeometry.metrics import FIM
from nngeometry.object.pspace import PMatDense
from torch import Tensor, nn
from torch.func import jvp
from torch.utils.data import DataLoader, TensorDataset

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher, printed_eq13

# A dependency of curvlinops and torch's own first jvp still call the deprecated torch.jit.script.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from curvlinops import GGNLinearOperator

    jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))

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


def theirs(glm: GLM) -> tuple[nn.Sequential, Tensor]:
    """The natural parameters in `torch.nn`, and where each entry of `glm.theta` lies among its own."""
    H, D = glm.W.shape
    layers: list[nn.Module] = [nn.Linear(D, H, bias=glm.norm is None)]
    layers += [] if glm.norm is None else [nn.LayerNorm(H, eps=glm.eps)]
    values = [glm.W, glm.b] if glm.norm is None else [glm.W, glm.gain, glm.b]
    model = nn.Sequential(*layers)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), values, strict=True):
            parameter.copy_(value)
    at = torch.arange(H * (D + 2), dtype=torch.float64)
    W, first, second = at[: H * D].view(H, D), at[H * D : H * (D + 1)], at[H * (D + 1) :]
    return model, (glm.pack(W, first, None) if glm.norm is None else glm.pack(W, second, first)).long()


def gauss_newton(model: nn.Module, X: Tensor) -> GGNLinearOperator:
    """The generalized Gauss-Newton operator of the log loss, which asks for classes and does not use them."""
    batches = [(X, torch.zeros(len(X), dtype=torch.long))]
    parameters = list(model.parameters())
    return GGNLinearOperator(model, nn.CrossEntropyLoss(), parameters, batches, check_deterministic=False)


@pytest.mark.parametrize("norm", [None, "layer"])
def test_matrix_and_products_are_those_of_other_libraries(norm):
    glm, X = model_and_cases(norm)
    model, at = theirs(glm)
    loader = DataLoader(TensorDataset(X), batch_size=len(X))
    nngeometry = FIM(model, loader, PMatDense, variant="classif_logits").to_torch()
    operator = gauss_newton(model, X)
    for matrix in (nngeometry, operator @ torch.eye(len(at))):
        assert relative(matrix[at][:, at], fisher(glm, X)) < ROUND_OFF
    v = torch.randn(len(at), generator=torch.Generator().manual_seed(4))
    assert relative((operator @ v[at.argsort()])[at], FisherOperator(glm, X) @ v) < ROUND_OFF


def test_the_printed_matrix_of_layer_norm_is_not_theirs():
    glm, X = model_and_cases("layer")
    model, at = theirs(glm)
    curvlinops = gauss_newton(model, X) @ torch.eye(len(at))
    # H = 5: the terms between units that Eq. (13) leaves out are about 1.3 / sqrt(5) of the weight block.
    assert relative(printed_eq13(glm, X), curvlinops[at][:, at]) > 0.1
