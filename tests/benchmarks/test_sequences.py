"""The recurrence's share of the time, and the memory of an update, on tasks whose costs are known."""

import sys
from typing import Any

import pytest
import torch
from rounds import added
from sequences import share
from torch import Tensor, nn

import lnlib
from lnbook.training import Cases, Minibatches, Task


class Both(Task):
    """A recurrence and a product, of such sizes."""

    updates = every = 1
    clip = 1.0

    def __init__(self, units: int, wide: int, steps: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.parts, self.wide = {}, wide
        recurrence = lnlib.LSTM(units, units)
        self.model = nn.ModuleDict({"lstm": recurrence, "square": nn.Linear(wide, wide)})
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-6)
        self.batches = Minibatches((torch.ones(steps, 4, units),), steps, generator)

    def loss(self, model: Any, cases: Cases, noise: torch.Generator) -> Tensor:
        return (model["lstm"](cases[0])[0].mean() + model["square"](torch.ones(4, self.wide))).square().mean()


def test_a_large_recurrence_outweighs_a_small_product_and_the_other_way_round() -> None:
    # 60 steps of 130,000 weights, the rest has none of their size; most of it is the way back
    assert 0.6 < share(Both(128, 4, steps=60), 1) < 1
    # 36 million weights against 32: a hundred times the time, so that a busy machine decides nothing
    assert 0 < share(Both(2, 6000, steps=2), 2) < 0.3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say")
def test_memory_is_the_peak_that_a_call_adds() -> None:
    # what is freed before the call ends counts; the allocator and the count of pages may add a little
    assert added(lambda: [torch.ones(8 * 2**18), torch.ones(32 * 2**18)].clear()) == pytest.approx(40, abs=2)
