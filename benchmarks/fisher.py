"""Speed of the exact Fisher matrix and its products against the libraries that compute the same.

    python benchmarks/fisher.py             print the table (15 minutes on one thread of a quiet machine)
    python benchmarks/fisher.py --record    and keep it in book/results/benchmarks/

Softmax outputs in float32. Times are milliseconds; each ratio is to lnlib, the median over rounds in each of
which every method runs in turn: once for a matrix, 20 times for products, as an iterative solver would. That
all compute the same is held by tests/benchmarks. A product with a vector is two matrix products of size
N x D x H in lnlib and five in curvlinops (counted from its calls): its ratio tends to 2.5 as these fill the
time, and what is above is its overhead a call. Needs the extra `peers`.
"""

from collections.abc import Iterator
from functools import partial
from statistics import median

import torch
from fisher_peers import dense, order, product
from rounds import Row, in_turn, ratio, run
from torch import Tensor

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher

SHAPES = [(10, 784), (64, 64)]  # units, features
SUCCESSION = 20  # products at a time, as an iterative solver asks for them


def measure(rounds: int) -> Iterator[Row]:
    """Matrices and products."""
    for units, features in SHAPES:
        for norm in (None, "layer"):
            yield from matrices(norm, units, features, 1000, rounds)
            yield from vectors(norm, units, features, 1000, 5 * rounds)


def matrices(norm: str | None, units: int, features: int, cases: int, rounds: int) -> Iterator[Row]:
    glm, X = model_and_cases(norm, units, features, cases)
    calls = {"lnlib": partial(fisher, glm, X), **dense(glm, X)}
    yield from times("matrix (ms)", norm, (units, features, cases), in_turn(calls, rounds, warm_up=0))


def vectors(norm: str | None, units: int, features: int, cases: int, rounds: int) -> Iterator[Row]:
    glm, X = model_and_cases(norm, units, features, cases)
    F = FisherOperator(glm, X)
    v = torch.randn(F.shape[0], generator=torch.Generator().manual_seed(1))
    theirs = torch.empty_like(v)
    theirs[order(glm)] = v
    calls = {"lnlib": lambda: F @ v, "curvlinops": partial(product(glm, X), theirs)}
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
