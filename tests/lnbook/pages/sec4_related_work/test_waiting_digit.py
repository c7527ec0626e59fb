"""The digit one has to wait for: the task, and a training run small enough to repeat."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.sec4_related_work import waiting_digit as task
from lnbook.pages.sec4_related_work.recurrent_norms import METHODS


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
    sizes = {"batch": 6, "steps": 10, "units": 5, "updates": updates, "rate": 0.01}
    return task.train(task.pixels(data.load("digits")), method=method, gains=gains, seeds=seeds, **sizes)


def test_a_run_does_not_depend_on_the_runs_beside_it() -> None:
    together = small("layer", (1.0, 0.1), (0, 1))
    assert [(r.gain, r.seed) for r in together] == [(1.0, 0), (1.0, 1), (0.1, 0), (0.1, 1)]
    (alone,) = small("layer", (0.1,), (1,))
    # batched products round otherwise than single ones
    np.testing.assert_allclose(alone.loss, together[3].loss, rtol=1e-4)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_learns_and_is_tested_at_three_lengths(method: str) -> None:
    (run,) = small(method, (1.0,), (0,), updates=40)
    assert run.loss[-10:].mean() < run.loss[:10].mean()
    assert list(run.by_length) == [10, 20, 40]
    assert all(0 <= e <= 100 for e in run.by_length.values())
    assert np.isnan(run.pooled) == (not METHODS[method].of_batch)
    if method == "input, by sequence":
        assert run.pooled == run.by_length[10]  # they were pooled before


def test_a_comparison_is_asked_by_setting() -> None:
    runs = task.compare(data.load("digits"), seeds=(0, 1), steps=9, units=4, updates=1, processes=1)
    assert len(runs.all) == 2 * (6 + 2 + 4)
    assert [r.gain for r in runs.of("batch")] == [0.1, 0.1]
    assert [r.gain for r in runs.of("layer")] == [1.0, 1.0]
    expected = [r.by_length[18] for r in runs.of("layer", 0.1)]
    assert runs.errors("layer", 0.1, times=2).tolist() == expected
    assert list(runs.panel(32)) == list(METHODS)
    assert list(runs.panel(8)) == list(task.SMALL_BATCHES)


def test_a_panel_shows_no_number_where_a_network_diverged() -> None:
    def run(seed: int, loss: float) -> task.Run:
        return task.Run("layer", 1.0, 32, seed, np.array([1.0, loss]), {9: 90.0}, np.nan)

    runs = task.Runs(9, [run(0, 0.5), run(1, np.nan)])
    assert np.isnan(runs.panel(32)["layer"]).all()
    assert runs.errors("layer").tolist() == [90.0, 90.0]
    assert list(runs.panel(32)) == ["layer"]


def test_first_gradients_come_a_batch_at_a_time() -> None:
    sizes = {"seeds": (0, 1), "steps": 12, "units": 4}
    found = task.first_gradients(data.load("digits"), "batch", 0.1, cases=24, batch=8, **sizes)
    assert found.shape == (3, 2, 12)
    assert (found[:, :, 0] == 1).all()
    whole = task.first_gradients(data.load("digits"), "none", 1.0, cases=24, batch=24, **sizes)
    assert whole.shape == (1, 2, 12)
    assert (np.diff(whole[0], axis=1) < 0).all()  # a plain network at its start forgets
