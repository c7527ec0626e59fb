"""The benchmark's peers make the update that lnlib makes, so that their times may be compared."""

from itertools import repeat

import pytest
import torch
import training
from torch import Tensor, nn
from training import PEERS, sequential

from lnbook import data
from lnbook.data import Images
from lnbook.shared.permutation_mnist import Classification, network
from lnbook.training import Machine, train

UNITS = (64, 30, 20, 10)
# Relative to an array's largest value: float32 rounds by 6e-8, here in sums over 128 cases and three layers.
CLOSE = 1e-5


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> Images:
    monkeypatch.setattr(training, "HIDDEN", UNITS[1:3])
    return data.load("digits")


def gradients(model: nn.Module) -> list[Tensor]:
    found = [parameter.grad for parameter in model.parameters()]
    return [gradient for gradient in found if gradient is not None]


@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
def test_the_plain_networks_gradients_are_the_experiments(images: Images, norm: training.Norm) -> None:
    task = Classification(images, UNITS[1:3], Machine(), norm=norm, batch_size=128, seed=0, rows=1, updates=1)
    theirs = sequential(UNITS, norm)
    theirs.load_state_dict(task.model.state_dict())  # the same parameters under the same names
    cases = next(task.batches)
    task.batches = repeat(cases)
    train(task)
    optimizer = torch.optim.Adam(theirs.parameters())
    training.update(theirs, optimizer, (cases[0].float() / images.peak, cases[1]))
    assert len(gradients(theirs)) == len(list(task.model.parameters()))
    for a, b in zip(gradients(theirs), gradients(task.model), strict=True):
        assert (a - b).abs().max() < CLOSE * b.abs().max()


@pytest.mark.parametrize("name", PEERS)
def test_every_way_makes_so_many_updates(images: Images, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    step = torch.optim.Adam.step

    def counted(self: torch.optim.Adam, *args: object) -> None:
        steps.append(sum(p.grad is not None for group in self.param_groups for p in group["params"]))
        step(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(torch.optim.Adam, "step", counted)
    PEERS[name](images, "layer", 16)(3)
    everything = len(list(network(UNITS, "layer", torch.Generator()).parameters()))
    assert steps == [everything] * 3, "an update is one step of the optimizer, over all parameters"
