"""The Fisher matrix of a softmax by the libraries that compute one, each in the way it does so best.

All compute the same quantity: outcomes in expectation under the model, mean over the cases. They take a
`torch.nn` model whose parameters follow each other; `order` takes their coordinates to `glm.theta`.
Needs the extra `peers`: pip install -c constraints.txt -e '.[peers]'
"""

import warnings
from collections.abc import Callable

import torch
from backpack import backpack, extend, extensions
from nngeometry.metrics import FIM
from nngeometry.object.pspace import PMatDense
from torch import Tensor, nn
from torch.func import functional_call, jacrev, jvp, vjp, vmap

from lnlib import GLM

# A dependency of curvlinops and torch's own first jvp still call the deprecated torch.jit.script.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from curvlinops import GGNLinearOperator

    jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))

COLUMNS = 64  # of the identity at a time: its fastest of 32 to 512 at the shapes of fisher.py
Parameters = dict[str, Tensor]
Product = Callable[[Tensor], Tensor]


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
    ways = {
        "torch.func": lambda: _torch_func(model, X),
        "nngeometry": lambda: _nngeometry(model, X),
        "curvlinops": lambda: _curvlinops_dense(model, X),
    }
    if glm.norm is None:  # BackPACK has no second order for LayerNorm
        ways["BackPACK"] = lambda: _backpack(extend(module(glm)), X)
    return ways


def torch_func_product(glm: GLM, X: Tensor) -> Product:
    """Forward, covariance, backward."""
    model = module(glm)
    values = {name: value.detach() for name, value in model.named_parameters()}
    shapes = [value.shape for value in values.values()]

    def parts(v: Tensor) -> Parameters:
        pieces = zip(values, v.split([shape.numel() for shape in shapes]), shapes, strict=True)
        return {name: piece.view(shape) for name, piece, shape in pieces}

    def f(p: Parameters) -> Tensor:
        return functional_call(model, p, (X,))

    with torch.no_grad():
        probabilities = torch.softmax(f(values), 1)

    def multiply(v: Tensor) -> Tensor:
        R = probabilities * jvp(f, (values,), (parts(v),))[1]
        R = (R - probabilities * R.sum(1, keepdim=True)) / len(X)
        (gradients,) = vjp(f, values)[1](R)
        return torch.cat([gradient.flatten() for gradient in gradients.values()])

    return multiply


def curvlinops_product(glm: GLM, X: Tensor) -> Product:
    """The operator's own product."""
    operator = _curvlinops(module(glm), X)
    return lambda v: operator @ v


PRODUCTS: dict[str, Callable[[GLM, Tensor], Product]] = {  # with vectors in the order of `module(glm)`
    "torch.func": torch_func_product,
    "curvlinops": curvlinops_product,
}


@torch.no_grad()
def _torch_func(model: nn.Module, X: Tensor) -> Tensor:
    """Case by case Jacobians times a root of the outputs' covariance, then one product."""

    def f(p: Parameters, x: Tensor) -> Tensor:
        return functional_call(model, p, (x[None],))[0]

    J = vmap(jacrev(f), (None, 0))(dict(model.named_parameters()), X)
    p = torch.softmax(model(X), 1)
    root = p.sqrt()[:, :, None] * (torch.eye(p.shape[1], dtype=p.dtype) - p[:, None, :])
    rows = (root @ torch.cat([j.flatten(2) for j in J.values()], 2)).flatten(0, 1)
    return rows.mT @ rows / len(X)


def _backpack(model: nn.Module, X: Tensor) -> Tensor:
    """The root of the generalized Gauss-Newton matrix, (P, classes N), squared."""
    loss = extend(nn.CrossEntropyLoss())(model(X), _targets(X))
    with backpack(extensions.SqrtGGNExact()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Full backward hook")  # its hooks, on inputs without gradients
        loss.backward()
    root = torch.cat([p.sqrt_ggn_exact.flatten(2).flatten(0, 1) for p in model.parameters()], 1)
    return root.mT @ root


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
