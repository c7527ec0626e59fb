"""What an update costs: tasks take turns."""

import numpy as np
import torch
from torch import Tensor, nn

from lnbook.shared import turns
from lnbook.training import Cases, Minibatches, Task


class Logged(Task):
    """Says whenever it makes an update."""

    updates = every = 1
    clip = 1.0

    def __init__(self, name: str, log: list[str]) -> None:
        self.parts, self.name, self.log = {}, name, log
        self.model = nn.Linear(1, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-6)
        self.batches = Minibatches((torch.ones(4, 1),), 4, torch.Generator().manual_seed(0))

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Tensor:
        self.log.append(self.name)
        return model(cases[0]).square().mean()


def test_tasks_take_turns_and_the_first_round_is_not_counted() -> None:
    log: list[str] = []
    times = turns.seconds({name: Logged(name, log) for name in "ab"}, rounds=3, updates=2)
    assert log == ["a", "a", "b", "b"] * 4
    assert {name: len(t) for name, t in times.items()} == {"a": 3, "b": 3}
    taken = {"a": np.array([0.001, 0.002, 0.009]), "b": np.array([0.002, 0.004, 0.009])}
    shown = turns.table(taken, {"a": "A", "b": "B"})
    assert shown.rows == [["A", "2.0", "1.00"], ["B", "4.0", "2.00"]]  # quotients of the same rounds
