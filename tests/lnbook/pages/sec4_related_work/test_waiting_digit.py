"""The digit one has to wait for: the task, and a training run small enough to repeat."""

import pytest
import torch

from lnbook import data
from lnbook.pages.sec4_related_work import waiting_digit as task


def test_each_image_passes_once_and_whole_at_a_random_step() -> None:
    g = torch.Generator().manual_seed(0)
    images = 1 + torch.rand(500, 3, 4, generator=g)
    images[0, 0, 0] = 0.0  # the paper's white
    x = task.waiting(images, 9, g)
    begins = (x != 0).any(2).int().argmax(0)  # the first step with ink of each case
    assert set(begins.tolist()) == set(range(7))
    for case, begin in enumerate(begins):
        assert torch.equal(x[begin : begin + 3, case], images[case])
        assert int((x[:, case] != 0).any(1).sum()) == 3


def small(method: str, gains: tuple[float, ...], seeds: tuple[int, ...]) -> list[task.Tested]:
    sizes = {"batch": 6, "steps": 10, "units": 5, "updates": 3}
    return task.train(task.pixels(data.load("digits")), method=method, gains=gains, seeds=seeds, **sizes)


def test_a_run_does_not_depend_on_the_runs_beside_it() -> None:
    together = small("layer", (1.0, 0.1), (0, 1))
    (alone,) = small("layer", (0.1,), (1,))
    for length, error in alone.errors.items():
        assert error[0] == pytest.approx(together[1].errors[length][1], abs=0.3)  # a case on the border
