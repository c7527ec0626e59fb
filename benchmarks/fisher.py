"""Speed of the exact Fisher matrix and its products against the libraries that compute the same.

    python benchmarks/fisher.py             print the table (15 minutes on one thread of a quiet machine)
    python benchmarks/fisher.py --record    and keep it in book/results/benchmarks/

Softmax outputs in float32. Times are milliseconds; each ratio is to lnlib, the median over rounds in each of
which every method runs in turn: once for a matrix, 20 times for products, as an iterative solver would. That
all compute the same, in expectation under the model and as a mean over the cases, is held by
tests/benchmarks. A product with a vector is two matrix products of size N x D x H in lnlib and five in
curvlinops (counted from its calls): its ratio tends to 2.5 as these fill the time, and what is above is its
overhead a call. Needs the extra `peers`: pip install -c constraints.txt -e '.[peers]'
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import torch
from nngeometry.metrics import FIM
from nngeometry.object.pspace import PMatDense
from rounds import Row, in_turn, ratio, run
from torch import Tensor, nn
from torch.func import jvp

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher

# A dependency of curvlinops and torch's own first jvp still call the deprecated torch.jit.script.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from curvlinops import GGNLinearOperator

    jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))

SHAPES = [(10, 784), (64, 64)]  # units, features
CASES = 1000
SUCCESSION = 20  # products at a time, as an iterative solver asks for them
COLUMNS = 64  # of the identity at a time: curvlinops' fastest of 32 to 512 at these shapes


def measure(rounds: int) -> Iterator[Row]:
    """Matrices and products."""
    for units, features in SHAPES:
        for norm in (None, "layer"):
            glm, X = model_and_cases(norm, units, features)
            F = FisherOperator(glm, X)
            v = torch.randn(F.shape[0], generator=torch.Generator().manual_seed(1))
            theirs = torch.empty_like(v)
            theirs[order(glm)] = v
            matrices = {"lnlib": partial(fisher, glm, X), **dense(glm, X)}
            products = {"lnlib": lambda F=F, v=v: F @ v, "curvlinops": partial(product(glm, X), theirs)}
            taken = {"matrix (ms)": in_turn(matrices, rounds, warm_up=0)}
            taken["product (ms)"] = in_turn(products, 5 * rounds, repeat=SUCCESSION)
            case = {"norm": norm or "none", "shape": f"H{units} D{features} N{CASES}"}
            for what, found in taken.items():
                for method, each in found.items():
                    numbers = {"value": median(each), "ratio": ratio(each, found["lnlib"])}
                    yield {"measure": what, **case, "method": method, **numbers}


def model_and_cases(norm: str | None, units: int, features: int) -> tuple[GLM, Tensor]:
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(units, features, generator=generator) / features**0.5
    b = torch.randn(units, generator=generator) / 10
    gain = None if norm is None else 1 + torch.randn(units, generator=generator) / 10
    glm = GLM("categorical", W, b, norm=norm, gain=gain, eps=0.0 if norm is None else 1e-5)
    return glm, torch.randn(CASES, features, generator=generator)


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
    """Where each entry of `glm.theta` lies among the parameters of `module(glm)`, which follow each other."""
    H, D = glm.W.shape
    at = torch.arange(H * (D + 2), dtype=torch.float64)
    W, first, second = at[: H * D].view(H, D), at[H * D : H * (D + 1)], at[H * (D + 1) :]
    return (glm.pack(W, first, None) if glm.norm is None else glm.pack(W, second, first)).long()


def dense(glm: GLM, X: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Each library's way to the matrix in which it is fastest, by name, in the order of `module(glm)`."""
    model = module(glm)

    def nngeometry() -> Tensor:
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X), batch_size=len(X))
        return FIM(model, loader, PMatDense, variant="classif_logits").to_torch()

    def curvlinops() -> Tensor:
        operator = gauss_newton(model, X)
        identity = torch.eye(operator.shape[0], dtype=X.dtype)
        return torch.cat([operator @ columns for columns in identity.split(COLUMNS, 1)], 1)

    return {"nngeometry": nngeometry, "curvlinops": curvlinops}


def product(glm: GLM, X: Tensor) -> Callable[[Tensor], Tensor]:
    """curvlinops' product with vectors in the order of `module(glm)`."""
    operator = gauss_newton(module(glm), X)
    return lambda v: operator @ v


def gauss_newton(model: nn.Module, X: Tensor) -> GGNLinearOperator:
    """The generalized Gauss-Newton operator of the log loss, which asks for classes and does not use them."""
    batches = [(X, torch.zeros(len(X), dtype=torch.long))]
    parameters = list(model.parameters())
    return GGNLinearOperator(model, nn.CrossEntropyLoss(), parameters, batches, check_deterministic=False)


if __name__ == "__main__":
    run(__doc__, "fisher", measure, "{:<14}{:<7}{:<20}{:<22}{:>10}{:>10}", rounds=3)
