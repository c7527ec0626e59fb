"""The digit one has to wait for: the task, and a training run small enough to repeat."""

from dataclasses import asdict

import numpy as np
import pytest
import torch

from lnlib import data
from lnlib.experiments import waiting_digit as task


def test_each_image_passes_once_and_whole_at_a_random_step() -> None:
    g = torch.Generator().manual_seed(0)
    images = 1 + torch.rand(500, 3, 4, generator=g)
    images[0, 0, 0] = 0.0  # the paper's white
    x = task.waiting(images, 9, g)
    assert x.shape == (9, 500, 4)
    begins = []
    for case in range(500):
        ink = (x[:, case] != 0).any(1).nonzero().flatten()
        begins.append(int(ink[0]))
        assert torch.equal(x[ink[0] : ink[0] + 3, case], images[case])
        assert len(ink) == 3
    assert set(begins) == set(range(7))


def test_pixels_are_scaled_by_the_training_set() -> None:
    train_x, train_y, test_x, _ = task.pixels(data.load("digits"))
    assert float(train_x.mean()) == pytest.approx(0, abs=1e-5)  # float32 sums
    assert float(train_x.std()) == pytest.approx(1, abs=1e-5)
    assert train_x.dtype == test_x.dtype == np.float32
    assert len(train_x) == len(train_y)


def small(method: str, gains: tuple[float, ...], seeds: tuple[int, ...], updates: int = 3) -> list[task.Run]:
    job = {"method": method, "gains": gains, "batch": 6}
    sizes = {"steps": 10, "units": 5, "updates": updates}
    return task.compare(data.load("digits"), [job], seeds=seeds, processes=1, **sizes)


def test_a_run_does_not_depend_on_the_runs_beside_it() -> None:
    together = small("layer", (1.0, 0.1), (0, 1))
    assert [(r.gain, r.seed) for r in together] == [(1.0, 0), (1.0, 1), (0.1, 0), (0.1, 1)]
    (alone,) = small("layer", (0.1,), (1,))
    # batched products round otherwise than single ones
    np.testing.assert_allclose(alone.loss, together[3].loss, rtol=1e-4)


@pytest.mark.parametrize(
    "method", ["none", "weight", "layer", "batch", "input, by step", "input, by sequence"]
)
def test_every_method_learns_and_is_tested_at_three_lengths(method: str) -> None:
    (run,) = small(method, (1.0,), (0,), updates=40)
    assert run.loss[-10:].mean() < run.loss[:10].mean()
    assert list(run.by_length) == [10, 20, 40]
    assert all(0 <= e <= 100 for e in run.by_length.values())
    expected = {"batch": ["everywhere", "recurrent"], "input, by step": ["everywhere"]}
    assert list(run.shared) == expected.get(method, [])
    assert asdict(run)["method"] == method
