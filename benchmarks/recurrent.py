"""Speed, memory and accuracy of layer-normalized LSTMs and GRUs against other ways to run them.

    python benchmarks/recurrent.py             print the table (20 minutes on a quiet machine of 2 cores)
    python benchmarks/recurrent.py --record    and keep it in book/results/benchmarks/

float32. Times are milliseconds a call, from the inputs to the outputs (inference) or to the gradients of all
parameters (training), and microseconds a time step and layer. The ratio is to torch.nn's network of the same
sizes without any norm: the median over rounds in each of which every method runs in turn. Errors are the
largest, over outputs or gradients, relative to the largest value, against the plain loop in float64; new
LSTMs are chaotic, and over long sequences lose every digit in float32, whatever the method. `products alone`
are the matrix products of lnlib's inference, of all inputs by oneDNN and of one state at a time by its own
kernel: what remains of its ratio is norms, gates and calls. Memory is what one training step adds to the peak
of a fresh process. JAX needs the extra `peers`. On one core, as two threads that wait for each other measure
a busy machine's load.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

import numpy as np
import torch
from recurrent_peers import PEERS, Call, layers, loop, names
from rounds import Row, in_turn, parser, ratio, record
from torch import Tensor, nn

import lnlib
from lnbook.ledger.provenance import provenance
from lnlib.matmul import product
from lnlib.rnn.kernels.matmul import WIDTH, multiply, pack, padded

# what, kind, inputs, units, layers, steps, cases: the paper's experiments and a small one of each kind
SHAPES = [
    ("small", "LSTM", 64, 64, 1, 50, 64),
    ("attentive reader", "LSTM", 240, 240, 1, 100, 64),
    ("DRAW", "LSTM", 256, 256, 1, 64, 128),
    ("handwriting", "LSTM", 60, 400, 3, 500, 8),
    ("small", "GRU", 64, 64, 1, 50, 64),
    ("order embeddings", "GRU", 300, 1024, 1, 15, 128),
    ("skip-thoughts", "GRU", 620, 2400, 1, 30, 64),
]
LONG = ("long", "LSTM", 240, 240, 1, 700, 64)  # memory
Shape = tuple[str, str, int, int, int, int, int]
REFERENCE = "torch.nn, no norm"
PRODUCTS = "products alone"


def main() -> None:
    options = parser(__doc__, 7)
    options.add_argument("--threads", type=int, default=1, help="threads (default 1)")
    options.add_argument("--memory", metavar="METHOD", help="print one method's peak in MB and stop")
    args = options.parse_args()
    torch.set_num_threads(args.threads)
    if hasattr(os, "sched_setaffinity"):  # JAX takes every core that it may, whatever its flags say
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-args.threads :])
    if args.memory:
        return print(peak(args.memory))
    rows: list[Row] = []
    for row in measure(args.rounds):
        cells = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        print("{:<17}{:<6}{:<17}{:<11}{:<22}{:>9}{:>9}{:>8}{:>10}{:>8}".format(*cells), flush=True)
        rows.append(row)
    if args.record:
        record("recurrent", rows, provenance(rounds=args.rounds, threads=args.threads))


def measure(rounds: int) -> Iterator[Row]:
    for shape in SHAPES:
        yield from speed(shape, rounds)
    peaks = {name: memory(name) for name in names(False)}
    for name, found in peaks.items():
        yield row(LONG, "memory", name, MB=found, ratio=found / peaks[REFERENCE])


def speed(shape: Shape, rounds: int) -> Iterator[Row]:
    """Inference and training of all methods in turn, and their errors."""
    what, _, inputs, _, depth, steps, cases = shape
    module = network(shape)
    x = torch.randn(steps, cases, inputs)
    upstream = torch.randn(steps, cases, module.hidden_size)
    calls = {name: PEERS[name](module) for name in names(what == "small")}
    exact = loop(network(shape).double())  # the same weights: drawn from the same seed
    torch.set_default_dtype(torch.float64)
    truth = exact(x.double(), upstream.double())
    torch.set_default_dtype(torch.float32)
    for mode, d in (("inference", None), ("training", upstream)):
        errors = {name: error(call(x, d), truth, mode) for name, call in calls.items() if name != REFERENCE}
        timed: dict[str, Callable[[], object]] = {name: partial(call, x, d) for name, call in calls.items()}
        if mode == "inference":
            timed[PRODUCTS] = products(module, x)
        taken = in_turn(timed, rounds, repeat=1 if steps * cases * module.hidden_size > 10**6 else 5)
        for name, each in taken.items():
            ms = median(each)
            cost, off = ratio(each, taken[REFERENCE]), errors.get(name, "")
            yield row(shape, mode, name, ms=ms, us=1e3 * ms / (steps * depth), ratio=cost, error=off)


def network(shape: Shape) -> nn.Module:
    _, kind, inputs, units, depth, _, _ = shape
    torch.manual_seed(0)
    return getattr(lnlib, kind)(inputs, units, depth)


def products(module: nn.Module, x: Tensor) -> Callable[[], list[tuple[Tensor, Tensor]]]:
    """The products of a forward pass: of all inputs with a layer's weights, and of one state at each step.

    What is multiplied is all ones. Returns, for each layer, both sides' products of the last step.
    """
    steps, cases, _ = x.shape
    operands = []
    for w_ih, w_hh, *_ in layers(module):
        packed = pack(w_hh.detach().mT.numpy())
        c = np.empty((cases, padded(len(w_hh))), np.float32)
        h = np.ones((cases, w_hh.shape[1]), np.float32)
        operands.append((torch.ones(steps * cases, w_ih.shape[1]), w_ih.detach().mT, h, packed, c))

    def call() -> list[tuple[Tensor, Tensor]]:
        found = []
        for inputs, weight, h, packed, c in operands:
            projected = product(inputs, weight)
            for _ in range(steps):
                multiply(h, 0, 1, cases, packed, (0, c.shape[1] // WIDTH), c)
            found.append((projected[-cases:], torch.from_numpy(c[:, : weight.shape[1]])))
        return found

    return call


def error(found: Sequence[Tensor], truth: Sequence[Tensor], mode: str) -> float:
    """Of the output, or of the worst of the gradients: the largest difference over the largest value."""
    pairs = list(zip(found, truth, strict=False))
    pairs = pairs[:1] if mode == "inference" else pairs[1:]
    return max(((a.double() - b).abs().max() / b.abs().max()).item() for a, b in pairs)


def memory(name: str) -> float:
    """The peak in MB of one training step in a process of its own."""
    arguments = [sys.executable, __file__, "--memory", name, "--threads", str(torch.get_num_threads())]
    return float(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)


def peak(name: str) -> float:
    """What a training step over a long sequence adds to the peak of this process: Linux only."""
    _, _, inputs, units, _, steps, cases = LONG
    module = network(LONG)
    call: Call = PEERS[name](module)
    short = torch.randn(2, cases, inputs), torch.randn(2, cases, units)
    call(*short)  # what is compiled and allocated once
    x, upstream = torch.randn(steps, cases, inputs), torch.randn(steps, cases, units)
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # start the peak anew
    call(x, upstream)
    return resident("VmHWM") - before


def resident(field: str) -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(field))


def row(
    shape: Shape,
    mode: str,
    method: str,
    *,
    ms: float | str = "",
    us: float | str = "",
    ratio: float = 1.0,
    error: float | str = "",
    MB: float | str = "",
) -> Row:
    what, kind, _, units, depth, steps, cases = shape
    size = f"{units}x{depth} T{steps} N{cases}"
    return {
        "task": what,
        "kind": kind,
        "size": size,
        "mode": mode,
        "method": method,
        "ms": ms,
        "us a step": us,
        "ratio": ratio,
        "error": error,
        "MB": MB,
    }


if __name__ == "__main__":
    main()
