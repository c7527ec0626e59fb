"""Costs are measured in turns."""

import numpy as np
import torch
from torch import Tensor, nn

from lnbook.shared.steps import turns as update_costs
from lnbook.training import Cases, Minibatches, Task


class Slow(Task):
    """A task that counts its updates and wastes time on demand."""

    updates = every = 1

    def __init__(self, repeats: int, log: list[int]) -> None:
        generator = torch.Generator().manual_seed(0)
        self.parts = {}
        self.model = nn.utils.skip_init(nn.Linear, 300, 300)
        for parameter in self.model.parameters():
            nn.init.normal_(parameter, generator=generator)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-9)
        self.batches = Minibatches((torch.ones(8, 300),), 4, generator)
        self.repeats, self.log = repeats, log

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Tensor:
        self.log.append(self.repeats)
        return sum((model(cases[0]).mean() for _ in range(self.repeats)), torch.zeros(()))


def test_tasks_take_turns_the_slow_one_takes_longer_and_threads_are_put_back() -> None:
    log: list[int] = []
    before = torch.get_num_threads()
    times = update_costs.seconds({"quick": Slow(1, log), "slow": Slow(200, log)}, rounds=3, updates=2)
    assert log == [1, 1, 200, 200] * 4  # the first round is not counted
    assert torch.get_num_threads() == before
    assert {name: len(t) for name, t in times.items()} == {"quick": 3, "slow": 3}
    # 200 times the work in one, an optimizer's step in both: far apart on any machine
    assert np.median(times["slow"]) > 3 * np.median(times["quick"])


def test_the_table_has_medians_and_quotients_of_the_same_rounds() -> None:
    times = {"a": np.array([0.001, 0.002, 0.009]), "b": np.array([0.002, 0.004, 0.009])}
    shown = update_costs.table(times, {"a": "A", "b": "B"})
    assert shown.header == ["", "Median milliseconds per update", "Times A in the same round, median"]
    assert shown.rows == [["A", "2.0", "1.00"], ["B", "4.0", "2.00"]]
