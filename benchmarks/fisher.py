"""Speed of the exact Fisher matrix and its products against the libraries that compute the same.

    python benchmarks/fisher.py             print the table (15 minutes on one thread of a quiet machine)
    python benchmarks/fisher.py --record    and keep it in book/results/benchmarks/

Softmax outputs in float32. Times are milliseconds; each ratio is to lnlib, the median over rounds in each of
which every method runs in turn: once for a matrix, 20 times for products, as an iterative solver would. That
all compute the same is held by tests/benchmarks. `GEMM limit` is the time of
N H (H + 1) / 2 D (D + 1) / 2 multiplications and additions at the rate of the fastest large matrix product in
the same rounds: what the half-vectorized outputs times the half-vectorized features would cost alone.

A product with a vector is two matrix products of size N x D x H, X V' and R' X, in lnlib, and five in
torch.func and curvlinops (counted from their calls): its ratio tends to 2.5 as these fill the time. What is
above 2.5 is their overhead per call. Needs the extra `peers`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import torch
from fisher_peers import PRODUCTS, dense, order
from rounds import Row, in_turn, ratio, run
from torch import Tensor

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher
from lnlib.fisher.moments import product

SHAPES = [(10, 784), (64, 64)]  # units, features
SIDE = 2048  # of the matrices whose product gives the rate
SUCCESSION = 20  # products at a time, as an iterative solver asks for them


def measure(rounds: int) -> Iterator[Row]:
    """Matrices, their limit, products."""
    for units, features in SHAPES:
        for norm in (None, "layer"):
            yield from matrices(norm, units, features, 1000, rounds)
            yield from limit(norm, units, features, 10_000, rounds + 2)
            yield from vectors(norm, units, features, 1000, 5 * rounds)


def matrices(norm: str | None, units: int, features: int, cases: int, rounds: int) -> Iterator[Row]:
    glm, X = model_and_cases(norm, units, features, cases)
    calls = {"lnlib": partial(fisher, glm, X), **dense(glm, X)}
    yield from times("matrix (ms)", norm, (units, features, cases), in_turn(calls, rounds, warm_up=0))


def limit(norm: str | None, units: int, features: int, cases: int, rounds: int) -> Iterator[Row]:
    glm, X = model_and_cases(norm, units, features, cases)
    square = torch.randn(SIDE, SIDE)
    calls = {
        "lnlib": partial(fisher, glm, X),
        "oneDNN": lambda: product(square, square),
        "torch.mm": lambda: square @ square,
    }
    taken = in_turn(calls, rounds, warm_up=1)
    work = cases * units * (units + 1) * features * (features + 1) / 4 / SIDE**3
    best = [work * min(both) for both in zip(taken["oneDNN"], taken["torch.mm"], strict=True)]
    found = {"lnlib": taken["lnlib"], "GEMM limit": best}
    yield from times("matrix (ms)", norm, (units, features, cases), found)


def vectors(norm: str | None, units: int, features: int, cases: int, rounds: int) -> Iterator[Row]:
    glm, X = model_and_cases(norm, units, features, cases)
    F = FisherOperator(glm, X)
    v = torch.randn(F.shape[0], generator=torch.Generator().manual_seed(1))
    theirs = torch.empty_like(v)
    theirs[order(glm)] = v
    calls: dict[str, Callable[[], Tensor]] = {"lnlib": lambda: F @ v}
    calls |= {method: partial(prepare(glm, X), theirs) for method, prepare in PRODUCTS.items()}
    taken = in_turn(calls, rounds, repeat=SUCCESSION)
    yield from times("product (ms)", norm, (units, features, cases), taken)


def times(
    measure: str, norm: str | None, shape: tuple[int, int, int], found: dict[str, list[float]]
) -> Iterator[Row]:
    for method, each in found.items():
        yield {
            "measure": measure,
            "norm": norm or "none",
            "shape": "H{} D{} N{}".format(*shape),
            "method": method,
            "value": median(each),
            "ratio": ratio(each, found["lnlib"]),
        }


def model_and_cases(norm: str | None, units: int, features: int, cases: int) -> tuple[GLM, Tensor]:
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(units, features, generator=generator) / features**0.5
    b = torch.randn(units, generator=generator) / 10
    gain = None if norm is None else 1 + torch.randn(units, generator=generator) / 10
    glm = GLM("categorical", W, b, norm=norm, gain=gain, eps=0.0 if norm is None else 1e-5)
    return glm, torch.randn(cases, features, generator=generator)


if __name__ == "__main__":
    run(__doc__, "fisher", measure, "{:<14}{:<7}{:<20}{:<22}{:>10}{:>10}", rounds=3)
