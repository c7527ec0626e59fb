"""What an update of a layer-normalized LSTM costs: processor time, which leaves out other programs."""

import time
from collections.abc import Callable
from functools import partial
from timeit import timeit

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor, nn

from lnbook.ledger.verdicts import LEVEL
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
