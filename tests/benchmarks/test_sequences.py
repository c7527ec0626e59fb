"""What of an update the profile gives to the recurrence, and the memory that a call adds."""

import sys
from typing import Any

import pytest
import torch
from rounds import added
from sequences import profiled
from torch import Tensor, nn

import lnlib
from lnbook.training import Cases, Minibatches, Task


class Both(Task):
    """A recurrence and a product."""

    updates = every = 1
    clip = 1.0

    def __init__(self) -> None:
        self.parts = {}
        self.model = nn.ModuleDict({"lstm": lnlib.LSTM(8, 8), "square": nn.Linear(4, 4)})
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-6)
        self.batches = Minibatches((torch.ones(5, 4, 8),), 5, torch.Generator().manual_seed(0))

    def loss(self, model: Any, cases: Cases, noise: torch.Generator) -> Tensor:
        return (model["lstm"](cases[0])[0].mean() + model["square"](torch.ones(4, 4))).square().mean()


def test_of_an_update_the_recurrence_and_its_way_back_count_and_nothing_else_does() -> None:
    found = profiled(Both(), 1)
    ours, others = ({event.name for event, its in found if its is wanted} for wanted in (True, False))
    assert {"_Recurrence", "_RecurrenceBackward"} <= ours - others
    assert {"aten::addmm", "AddmmBackward0", "Optimizer.step#SGD.step"} <= others - ours


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say")
def test_memory_is_the_peak_that_a_call_adds() -> None:
    # what is freed before the call ends counts; the allocator and the count of pages may add a little
    assert added(lambda: [torch.ones(8 * 2**18), torch.ones(32 * 2**18)].clear()) == pytest.approx(40, abs=2)
