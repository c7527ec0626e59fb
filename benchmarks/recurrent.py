"""Speed, memory and accuracy of layer-normalized LSTMs and GRUs against other ways to run them.

    python benchmarks/recurrent.py             print the table (20 minutes on a quiet machine of 2 cores)
    python benchmarks/recurrent.py --record    and keep it in book/results/benchmarks/

float32. Times are milliseconds a call, from the inputs to the outputs (inference) or to the gradients of all
parameters (training), and microseconds a time step and layer. The ratio is to torch.nn's network of the same
sizes without any norm: the median over rounds in each of which every method runs in turn. Errors are the
largest, over outputs or gradients, relative to the largest value, against the plain loop in float64; new
LSTMs are chaotic, and over long sequences lose every digit in float32, whatever the method. `products alone`
are the matrix products of lnlib's inference: what remains of its time is norms, gates and calls. Memory is
what one training step adds to the peak of a fresh process. JAX needs the extra `peers`. All on one core;
where a processor has AVX-512, once with it and once as a processor would that has only AVX2.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import TypeVar

import numpy as np
import torch
from recurrent_peers import PEERS, layers, loop
from rounds import Row, added, in_turn, on_one_core, ratio, run
from torch import Tensor, nn

import lnlib
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
T = TypeVar("T")
Shape = tuple[str, str, int, int, int, int, int]
REFERENCE = "torch.nn, no norm"
AVX2 = {  # what lets each library believe that the processor has nothing newer
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "NUMBA_CPU_NAME": "haswell",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}


def measure(rounds: int) -> Iterator[Row]:
    """Times and errors at every shape, with each instruction set, then memory."""
    on_one_core()
    for shape in SHAPES:
        yield from in_process(speed, shape, rounds)
    peaks = {name: in_process(peak_of, name) for name in PEERS}
    for name, found in peaks.items():
        yield row(LONG, "memory", name, MB=found, ratio=found / peaks[REFERENCE])
    if torch.backends.cpu.get_cpu_capability() == "AVX512":
        os.environ |= AVX2  # read by the processes that start from here on
        for shape in SHAPES:
            yield from in_process(speed, shape, rounds)


def in_process(function: Callable[..., T], *arguments: object) -> T:
    """What a function returns in a fresh process on one core."""
    with ProcessPoolExecutor(1, get_context("spawn"), on_one_core) as pool:
        return pool.submit(function, *arguments).result()


def speed(shape: Shape, rounds: int) -> list[Row]:
    """Inference and training of all methods in turn, and their errors."""
    _, _, inputs, _, depth, steps, cases = shape
    module = network(shape)
    x = torch.randn(steps, cases, inputs)
    upstream = torch.randn(steps, cases, module.hidden_size)
    calls = {name: peer(module) for name, peer in PEERS.items()}
    exact = loop(network(shape).double())  # the same weights: drawn from the same seed
    torch.set_default_dtype(torch.float64)
    truth = exact(x.double(), upstream.double())
    torch.set_default_dtype(torch.float32)
    rows = []
    for mode, d in (("inference", None), ("training", upstream)):
        errors = {name: error(call(x, d), truth, mode) for name, call in calls.items() if name != REFERENCE}
        timed: dict[str, Callable[[], object]] = {name: partial(call, x, d) for name, call in calls.items()}
        if mode == "inference":
            timed["products alone"] = products(module, x)
        taken = in_turn(timed, rounds, repeat=1 if steps * cases * module.hidden_size > 10**6 else 5)
        for name, each in taken.items():
            ms, cost = median(each), ratio(each, taken[REFERENCE])
            values = {"ms": ms, "us a step": 1e3 * ms / (steps * depth), "ratio": cost}
            rows.append(row(shape, mode, name, **values, error=errors.get(name, "")))
    return rows


def network(shape: Shape) -> nn.Module:
    _, kind, inputs, units, depth, _, _ = shape
    torch.manual_seed(0)
    return getattr(lnlib, kind)(inputs, units, depth)


def products(module: nn.Module, x: Tensor) -> Callable[[], None]:
    """Of ones: the products of all inputs with a layer's weights, and of one state at each step."""
    steps, cases, _ = x.shape

    def call() -> None:
        for inputs, weight, h, packed, c in operands:
            product(inputs, weight)
            for _ in range(steps):
                multiply(h, 0, 1, cases, packed, (0, c.shape[1] // WIDTH), c)

    operands = []
    for w_ih, w_hh, *_ in layers(module):
        c = np.empty((cases, padded(len(w_hh))), np.float32)
        h = np.ones((cases, w_hh.shape[1]), np.float32)
        inputs = torch.ones(steps * cases, w_ih.shape[1])
        operands.append((inputs, w_ih.detach().mT, h, pack(w_hh.detach().mT.numpy()), c))
    return call


def error(found: Sequence[Tensor], truth: Sequence[Tensor], mode: str) -> float:
    """Of the output, or of the worst of the gradients: the largest difference over the largest value."""
    pairs = list(zip(found, truth, strict=False))
    pairs = pairs[:1] if mode == "inference" else pairs[1:]
    return max(((a.double() - b).abs().max() / b.abs().max()).item() for a, b in pairs)


def peak_of(name: str) -> float:
    """What a training step over a long sequence adds to the peak of this process."""
    _, _, inputs, units, _, steps, cases = LONG
    call = PEERS[name](network(LONG))
    call(torch.randn(2, cases, inputs), torch.randn(2, cases, units))  # what is compiled and allocated once
    x, upstream = torch.randn(steps, cases, inputs), torch.randn(steps, cases, units)
    return added(lambda: call(x, upstream))


def row(shape: Shape, mode: str, method: str, **values: float | str) -> Row:
    what, kind, _, units, depth, steps, cases = shape
    size = f"{units}x{depth} T{steps} N{cases}"
    isa = torch.backends.cpu.get_cpu_capability()
    said: Row = {"task": what, "kind": kind, "size": size, "isa": isa, "mode": mode, "method": method}
    return said | {name: values.get(name, "") for name in ("ms", "us a step", "ratio", "error", "MB")}


if __name__ == "__main__":
    line = "{:<17}{:<6}{:<17}{:<7}{:<11}{:<22}{:>9}{:>11}{:>8}{:>10}{:>8}"
    run(__doc__, "recurrent", measure, line, rounds=7)
