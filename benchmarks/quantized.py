"""What int8 weights cost in time: calls of `lnlib.rnn.quantized` against those of the float network.

    python benchmarks/quantized.py             print the table (a minute on one core)

Processor time of one thread, float32. The ratio is that of a call with int8 weights to one with float weights
within a round: its median over the rounds, and the second lowest and second highest. "dequantized" is the
share of the int8 call that makes the float weights.
"""

import argparse
import time
from functools import partial
from statistics import median

import torch
from rounds import in_turn

import lnlib

# kind, units and inputs, steps, cases: a step of a stream, and whole batches
SHAPES = [("LSTM", units, *batch) for units in (64, 256, 1024) for batch in ((1, 1), (50, 1), (50, 32))]
SHAPES += [("GRU", 256, 1, 1), ("GRU", 256, 50, 32)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each comparison (default 9)")
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print(f"{'kind':<6}{'units':>6}{'steps':>6}{'cases':>6}{'ms':>9}{'ratio':>8}  spread{'dequantized':>19}")
    for shape in SHAPES:
        print(line(*shape, rounds), flush=True)


def line(kind: str, units: int, steps: int, cases: int, rounds: int) -> str:
    torch.manual_seed(0)
    network = getattr(lnlib, kind)(units, units).eval()
    small, x = lnlib.rnn.quantized(network), torch.randn(steps, cases, units)
    calls = {"float": partial(network, x), "int8": partial(small, x), "made": small.dequantized}
    repeat = max(1, 10**7 // (units * units * (1 + steps * cases)))
    with torch.no_grad():
        taken = in_turn(calls, rounds, repeat=min(repeat, 100), clock=time.process_time)
    ratios = sorted(a / b for a, b in zip(taken["int8"], taken["float"], strict=True))
    ms = median(taken["float"])
    share = median(a / b for a, b in zip(taken["made"], taken["int8"], strict=True))
    spread = f"{ratios[1]:.2f} to {ratios[-2]:.2f}"
    return (
        f"{kind:<6}{units:>6}{steps:>6}{cases:>6}{ms:>9.3g}{median(ratios):>8.2f}  {spread:<14}{share:>9.0%}"
    )


if __name__ == "__main__":
    main()
