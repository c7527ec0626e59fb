"""The Fisher matrix of a softmax by the libraries that compute one, each in the way it does so best.

All compute the same quantity: outcomes in expectation under the model, mean over the cases. They take a
`torch.nn` model whose parameters follow each other; `order` takes their coordinates to `glm.theta`.
Needs the extra `peers`: pip install -c constraints.txt -e '.[peers]'
"""

import warnings
from collections.abc import Callable

import torch
from nngeometry.metrics import FIM
from nngeometry.object.pspace import PMatDense
from torch import Tensor, nn
from torch.func import jvp

from lnlib import GLM

# A dependency of curvlinops and torch's own first jvp still call the deprecated torch.jit.script.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from curvlinops import GGNLinearOperator

    jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))

COLUMNS = 64  # of the identity at a time: its fastest of 32 to 512 at the shapes of fisher.py


def module(glm: GLM) -> nn.Sequential:
    """The model's natural parameters as `torch.nn` computes them: Linear, or Linear and LayerNorm."""
    (H, D), dtype = glm.W.shape, glm.W.dtype
    linear = nn.Linear(D, H, bias=glm.norm is None, dtype=dtype)
    layers = [linear] if glm.norm is None else [linear, nn.LayerNorm(H, eps=glm.eps, dtype=dtype)]
    values = [glm.W, glm.b] if glm.norm is None else [glm.W, glm.gain, glm.b]
    model = nn.Sequential(*layers)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), values, strict=True):
            parameter.copy_(value)
    return model


def order(glm: GLM) -> Tensor:
    """Where each entry of `glm.theta` lies among the parameters of `module(glm)`."""
    H, D = glm.W.shape
    at = torch.arange(H * (D + 2), dtype=torch.float64)
    W, first, second = at[: H * D].view(H, D), at[H * D : H * (D + 1)], at[H * (D + 1) :]
    return (glm.pack(W, first, None) if glm.norm is None else glm.pack(W, second, first)).long()


def dense(glm: GLM, X: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Each library's way to the matrix, by name, in the order of `module(glm)`."""
    model = module(glm)
    return {
        "nngeometry": lambda: _nngeometry(model, X),
        "curvlinops": lambda: _curvlinops_dense(model, X),
    }


def product(glm: GLM, X: Tensor) -> Callable[[Tensor], Tensor]:
    """curvlinops' product with vectors in the order of `module(glm)`."""
    operator = _curvlinops(module(glm), X)
    return lambda v: operator @ v


def _nngeometry(model: nn.Module, X: Tensor) -> Tensor:
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X), batch_size=len(X))
    return FIM(model, loader, PMatDense, variant="classif_logits").to_torch()


def _curvlinops(model: nn.Module, X: Tensor) -> GGNLinearOperator:
    """The generalized Gauss-Newton operator of the log loss."""
    parameters, batches = list(model.parameters()), [(X, _targets(X))]
    return GGNLinearOperator(model, nn.CrossEntropyLoss(), parameters, batches, check_deterministic=False)


def _curvlinops_dense(model: nn.Module, X: Tensor) -> Tensor:
    operator = _curvlinops(model, X)
    identity = torch.eye(operator.shape[0], dtype=X.dtype)
    return torch.cat([operator @ columns for columns in identity.split(COLUMNS, 1)], 1)


def _targets(X: Tensor) -> Tensor:
    """Classes, which the losses ask for; the matrix does not depend on them."""
    return torch.zeros(len(X), dtype=torch.long)
