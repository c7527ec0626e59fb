"""What an update of a layer-normalized LSTM costs, measured so that a busy machine does not matter."""

import time
from collections.abc import Callable
from functools import partial
from timeit import timeit

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor, nn

from lnbook.ledger.intervals import LEVEL
from lnbook.training import torch_threads

Norm = Callable[[Tensor], Tensor]


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
    task: Callable[[], object], other: Callable[[], object], rounds: int = 9
) -> tuple[float, float, float]:
    """The median of the ratios of processor time, task over other, and its 95 % interval.

    In each round both run once, on one thread, and take turns in going first; a round before the first is not
    counted. Processor time leaves out what other programs take, and the interval, the inverse of the sign
    test, assumes nothing about how the ratios are distributed; fewer than 6 have no interval of 95 %.
    """
    ratios, seconds = [], partial(timeit, timer=time.process_time, number=1)
    with torch_threads(1):
        for r in range(rounds + 1):
            if r % 2:
                mine, theirs = seconds(task), seconds(other)
            else:
                theirs, mine = seconds(other), seconds(task)
            ratios.append(mine / theirs)
    interval = stats.quantile_test(ratios[1:], p=0.5).confidence_interval(1 - LEVEL)
    return float(np.median(ratios[1:])), float(interval.low), float(interval.high)
