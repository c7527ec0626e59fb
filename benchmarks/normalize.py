"""Speed of lnlib's layer norm against torch's own.

    python benchmarks/normalize.py             print the table
    python benchmarks/normalize.py --record    and keep it in book/results/benchmarks/

Times are milliseconds. In every round each function runs once, in turn, and the ratio is the median over
rounds of the quotient within a round: load on the machine hits both sides. On a busy machine one thread
(OMP_NUM_THREADS=1, as `make bench` sets it) says more, since two wait for each other.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

import torch
import torch.nn.functional as F
from rounds import Row, in_turn, ratio, run
from torch import Tensor

import lnlib

Norm = Callable[[Tensor, Tensor, Tensor], Tensor]
COLUMNS = ("measure", "shape", "dtype", "mean", "method", "value", "ratio")

METHODS: dict[str, Norm] = {
    "torch": lambda a, g, b: F.layer_norm(a, g.shape, g, b),
    "lnlib": lambda a, g, b: lnlib.layer_norm(a, g, b),
}
CASES = [  # cases, units, dtype, mean
    (4096, 1024, torch.float32, 0.0),
    (4096, 1024, torch.float32, 1e4),
    (512, 512, torch.float32, 0.0),
    (64, 64, torch.float32, 0.0),
    (4096, 1024, torch.bfloat16, 0.0),
]


def measure(rounds: int) -> Iterator[Row]:
    """Forward, and forward with backward, of torch's function and ours."""
    for cases, units, dtype, mean in CASES:
        a, upstream = draw(cases, units, mean, dtype), draw(cases, units, 0.0, dtype, seed=1)
        g, b = draw(1, units, 1.0, dtype)[0], draw(1, units, 0.0, dtype, seed=1)[0]
        case = (f"{cases}x{units}", str(dtype).removeprefix("torch."), mean)
        forward = {method: partial(f, a, g, b) for method, f in METHODS.items()}
        both = {method: partial(differentiate, f, (a, g, b), upstream) for method, f in METHODS.items()}
        for measure, calls in {"forward (ms)": forward, "forward + backward (ms)": both}.items():
            taken = in_turn(calls, rounds)
            for method, each in taken.items():
                numbers = (median(each), ratio(each, taken["torch"]))
                yield dict(zip(COLUMNS, (measure, *case, method, *numbers), strict=True))


def differentiate(norm: Norm, args: Sequence[Tensor], upstream: Tensor) -> tuple[Tensor, ...]:
    leaves = [t.detach().requires_grad_() for t in args]
    return torch.autograd.grad(norm(*leaves), leaves, upstream)


def draw(cases: int, units: int, mean: float, dtype: torch.dtype, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(cases, units, generator=generator, dtype=torch.float64) + mean).to(dtype)


if __name__ == "__main__":
    run(__doc__, "normalize", measure, "{:<26}{:<11}{:<10}{:>7}  {:<9}{:>10}{:>10}", rounds=100)
