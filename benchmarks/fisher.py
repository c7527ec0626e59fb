"""Speed and memory of the exact Fisher matrix and its products against the libraries that compute the same.

    python benchmarks/fisher.py             print the table (15 minutes on one thread of a quiet machine)
    python benchmarks/fisher.py --record    and keep it in book/results/benchmarks/

Softmax outputs in float32. Times are milliseconds; each ratio is to lnlib, the median over rounds in each of
which every method runs in turn: once for a matrix, 20 times for products, as an iterative solver would. The
first result of each method is held to lnlib's before it counts. `GEMM limit` is the time of
N H (H + 1) / 2 D (D + 1) / 2 multiplications and additions at the rate of the fastest large matrix product in
the same rounds: what the half-vectorized outputs times the half-vectorized features would cost alone.

A product with a vector is two matrix products of size N x D x H, X V' and R' X, in lnlib, and five in
torch.func and curvlinops (counted from their calls): its ratio tends to 2.5 as these fill the time. What is
above 2.5 is their overhead per call. Memory is the peak of a fresh process beside the data, for the operator
and one product. Needs the extra `peers`.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import torch
from fisher_peers import PRODUCTS, dense, order
from rounds import Row, in_turn, parser, ratio, record
from torch import Tensor

from lnbook.ledger.provenance import provenance
from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher
from lnlib.fisher.moments import product

SHAPES = [(10, 784), (64, 64)]  # units, features
SIDE = 2048  # of the matrices whose product gives the rate
SUCCESSION = 20  # products at a time, as an iterative solver asks for them
MEMORY = (10, 784, 100_000)  # units, features, cases
Call = Callable[[], Tensor]


def main() -> None:
    options = parser(__doc__, 3, "the matrices")
    options.add_argument("--memory", metavar="METHOD", help="print one method's peak in MB and stop")
    args = options.parse_args()
    if args.memory:
        return print(peak_beside_data(args.memory))
    rows: list[Row] = []
    for row in measure(args.rounds):
        cells = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        print("{:<14}{:<7}{:<20}{:<22}{:>10}{:>10}".format(*cells), flush=True)
        rows.append(row)
    if args.record:
        record("fisher", rows, provenance(rounds=args.rounds))


def measure(rounds: int) -> Iterator[Row]:
    """Matrices, their limit, products, memory."""
    for units, features in SHAPES:
        for norm in (None, "layer"):
            yield from matrices(norm, units, features, 1000, rounds)
            yield from limit(norm, units, features, 10_000, rounds + 2)
            yield from vectors(norm, units, features, 1000, 5 * rounds)
    yield from memory()


def matrices(norm: str | None, units: int, features: int, cases: int, rounds: int) -> Iterator[Row]:
    glm, X = model_and_cases(norm, units, features, cases)
    at, ours = order(glm), fisher(glm, X)
    for method, call in dense(glm, X).items():
        check(method, call()[at][:, at], ours)
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
    at, F = order(glm), FisherOperator(glm, X)
    v = torch.randn(F.shape[0], generator=torch.Generator().manual_seed(1))
    theirs = torch.empty_like(v)
    theirs[at] = v
    peers = {method: prepare(glm, X) for method, prepare in PRODUCTS.items()}
    for method, multiply in peers.items():
        check(method, multiply(theirs)[at], F @ v)
    calls: dict[str, Call] = {"lnlib": lambda: F @ v}
    calls |= {method: partial(multiply, theirs) for method, multiply in peers.items()}
    taken = in_turn(calls, rounds, repeat=SUCCESSION)
    yield from times("product (ms)", norm, (units, features, cases), taken)


def memory() -> Iterator[Row]:
    """Peak of the operator and one product, each method in a process of its own."""
    found = {}
    for method in ("lnlib", *PRODUCTS):
        command = [sys.executable, __file__, "--memory", method]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
        found[method] = [float(done.stdout)]
    yield from times("memory (MB)", "layer", MEMORY, found)


def peak_beside_data(method: str) -> float:
    """MB by which the operator and one product raise this process's memory; after a small warm-up."""
    before = 0.0
    for cases in (10, MEMORY[2]):
        glm, X = model_and_cases("layer", *MEMORY[:2], cases)
        v = torch.zeros(glm.theta.numel())
        before = megabytes("VmRSS")
        if method == "lnlib":
            FisherOperator(glm, X) @ v
        else:
            PRODUCTS[method](glm, X)(v)
    return megabytes("VmHWM") - before


def megabytes(field: str) -> float:
    """A line of Linux's /proc/self/status."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in status if line.startswith(field + ":"))


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


def check(method: str, theirs: Tensor, ours: Tensor) -> None:
    error = float(torch.linalg.norm(theirs - ours) / torch.linalg.norm(ours))
    if not error < 1e-5:  # float32: the largest seen is 1.5e-6, of nngeometry
        raise SystemExit(f"{method} differs from lnlib by {error:.1e}; they do not compute the same")


def model_and_cases(norm: str | None, units: int, features: int, cases: int) -> tuple[GLM, Tensor]:
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(units, features, generator=generator) / features**0.5
    b = torch.randn(units, generator=generator) / 10
    gain = None if norm is None else 1 + torch.randn(units, generator=generator) / 10
    glm = GLM("categorical", W, b, norm=norm, gain=gain, eps=0.0 if norm is None else 1e-5)
    return glm, torch.randn(cases, features, generator=generator)


if __name__ == "__main__":
    main()
