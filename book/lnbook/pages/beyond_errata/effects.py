"""How large the errata's effects are: the picture of all entries, and what an update costs.

Costs are processor time, which leaves out other programs.
"""

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from timeit import timeit

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy import stats
from torch import Tensor, nn

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.verdicts import LEVEL
from lnbook.training import torch_threads

Norm = Callable[[Tensor], Tensor]
# Kinds, told apart by color and by shape, each with its last entry.
KINDS = (
    ("slips of the pen", 6, plots.INK, "o"),
    ("conditions left unsaid", 13, plots.OTHERS["teal"], "s"),
    ("wrong formulas", 17, plots.OTHERS["red"], "D"),
    ("sentences tested by a measurement", 20, plots.OTHERS["olive"], "^"),
)
LOW, HIGH = 0.05, 4.0


def sizes(entries: Mapping[str, float]) -> Figure:
    """Relative errors of what is printed, a row per entry, in two columns; a name begins with its number."""
    fig, halves = plots.subplots(1, 2, figsize=(7.2, 3.6), sharex=True)
    half = -(-len(entries) // 2)
    for place, (name, size) in enumerate(entries.items()):
        kind, _, color, marker = next(k for k in KINDS if int(name[1:3]) <= k[1])
        ax, row = halves[place // half], place % half
        end = size if math.isfinite(size) else HIGH
        ax.hlines(row, LOW, end, color=color, lw=1.4)
        ax.plot(end, row, marker, color=color, ms=6, clip_on=False, label=kind)
        if not math.isfinite(size):
            ax.annotate("NaN", (HIGH, row), (-8, 3), textcoords="offset points", ha="right")
    for ax, some in zip(halves, np.split(list(entries), [half]), strict=True):
        ax.set_xscale("log")
        ax.set(xlim=(LOW, 1.2 * HIGH), ylim=(half - 0.4, -0.6), xlabel="relative error as printed")
        on.exactly(ax.xaxis, [0.1, 0.5, 2], ["10 %", "50 %", "200 %"])
        ax.set_yticks(range(len(some)), some, fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=False, axis="y")
    on.legend(fig)
    return fig


def updates(
    step: Callable[..., tuple[Tensor, Tensor]], units: int, inputs: int, batch: int, steps: int
) -> tuple[Callable[[Norm], None], Callable[[], None]]:
    """One update, forward and backward, of an LSTM that loops over `step`, and one of torch's own LSTM."""
    lstm = nn.LSTM(inputs, units)
    x: Float[Tensor, "T N D"] = torch.randn(steps, batch, inputs)

    def ours(norm: Norm) -> None:
        h, c = torch.zeros(2, batch, units)
        outputs = []
        for now in x.unbind(0):
            h, c = step(now, h, c, lstm.weight_ih_l0, lstm.weight_hh_l0, norm)
            outputs.append(h)
        torch.stack(outputs).square().mean().backward()

    return ours, lambda: lstm(x)[0].square().mean().backward()


def cost_ratio(
    task: Callable[[], object], other: Callable[[], object], rounds: int
) -> tuple[float, float, float]:
    """The median of the ratios of processor time, task over other, and its 95 % interval.

    In each round both run once and take turns in going first; a round before the first is not counted. The
    interval is the inverse of the sign test.
    """
    ratios, seconds = [], partial(timeit, timer=time.process_time, number=1)
    with torch_threads(1):
        for r in range(rounds + 1):
            first, second = (seconds(each) for each in ((task, other) if r % 2 else (other, task)))
            ratios.append(first / second if r % 2 else second / first)
    interval = stats.quantile_test(ratios[1:], p=0.5).confidence_interval(1 - LEVEL)
    return float(np.median(ratios[1:])), float(interval.low), float(interval.high)
