"""Speed and accuracy of lnlib's layer norm against torch's own.

    python benchmarks/normalize.py             print the table
    python benchmarks/normalize.py --record    and keep it in book/results/benchmarks/

Times are milliseconds. In every round each function runs once, in turn, and the ratio is the median over
rounds of the quotient within a round: load on the machine hits both sides. On a busy machine one thread
(OMP_NUM_THREADS=1, as `make bench` sets it) says more, since two wait for each other. Errors are the largest
over all outputs, against float64 on the same inputs, which is itself right to 1e-9 at a mean of 1e6.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

import torch
import torch.nn.functional as F
from rounds import Row, in_turn, parser, ratio, record, shown
from torch import Tensor

import lnlib
from lnbook.ledger.provenance import provenance

Norm = Callable[[Tensor, Tensor, Tensor], Tensor]
Case = tuple[str, torch.dtype, float]  # shape, dtype, mean

METHODS: dict[str, Norm] = {
    "torch": lambda a, g, b: F.layer_norm(a, g.shape, g, b),
    "lnlib": lambda a, g, b: lnlib.layer_norm(a, g, b),
}
CASES = [  # cases, units, dtype, mean: a mean of 1e4 is taken off first, at its price
    (4096, 1024, torch.float32, 0.0),
    (4096, 1024, torch.float32, 1e4),
    (512, 512, torch.float32, 0.0),
    (64, 64, torch.float32, 0.0),
    (4096, 1024, torch.bfloat16, 0.0),
]


def main() -> None:
    args = parser(__doc__, 100).parse_args()
    rows = shown([*speed(args.rounds), *accuracy()], "{:<26}{:<11}{:<10}{:>7}  {:<9}{:>10}{:>10}")
    if args.record:
        record("normalize", rows, provenance(rounds=args.rounds))


def speed(rounds: int) -> Iterator[Row]:
    """Forward, and forward with backward, of torch's function and ours."""
    for cases, units, dtype, mean in CASES:
        a, upstream = draw(cases, units, mean, dtype), draw(cases, units, 0.0, dtype, seed=1)
        g, b = draw(1, units, 1.0, dtype)[0], draw(1, units, 0.0, dtype, seed=1)[0]
        case = (f"{cases}x{units}", dtype, mean)
        forward = {method: partial(f, a, g, b) for method, f in METHODS.items()}
        both = {method: partial(differentiate, f, (a, g, b), upstream) for method, f in METHODS.items()}
        for measure, calls in {"forward (ms)": forward, "forward + backward (ms)": both}.items():
            taken = in_turn(calls, rounds)
            for method, each in taken.items():
                yield row(measure, case, method, median(each), ratio(each, taken["torch"]))


def accuracy() -> Iterator[Row]:
    """Layer norm's outputs far from zero, in float32."""
    eps = 1e-5
    for mean in (0.0, 1e4, 1e6):
        a = draw(512, 512, mean, torch.float32)
        d = a.double() - a.double().mean(1, keepdim=True)
        truth = d / (d.square().mean(1, keepdim=True) + eps).sqrt()
        one_pass = (a.square().mean(1, keepdim=True) - a.mean(1, keepdim=True).square()).clamp(min=0.0)
        outputs = {
            "torch": F.layer_norm(a, a.shape[-1:], eps=eps),
            "one-pass": (a - a.mean(1, keepdim=True)) / (one_pass + eps).sqrt(),
            "lnlib": lnlib.layer_norm(a, eps=eps),
        }
        found = {method: (out - truth).abs().max().item() for method, out in outputs.items()}
        for method, error in found.items():
            case = ("512x512", torch.float32, mean)
            yield row("largest error", case, method, error, error / found["torch"])


def differentiate(norm: Norm, args: Sequence[Tensor], upstream: Tensor) -> tuple[Tensor, ...]:
    leaves = [t.detach().requires_grad_() for t in args]
    return torch.autograd.grad(norm(*leaves), leaves, upstream)


def row(measure: str, case: Case, method: str, value: float, ratio: float) -> Row:
    shape, dtype, mean = case
    return {
        "measure": measure,
        "shape": shape,
        "dtype": str(dtype).removeprefix("torch."),
        "mean": mean,
        "method": method,
        "value": value,
        "ratio": ratio,
    }


def draw(cases: int, units: int, mean: float, dtype: torch.dtype, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(cases, units, generator=generator, dtype=torch.float64) + mean).to(dtype)


if __name__ == "__main__":
    main()
