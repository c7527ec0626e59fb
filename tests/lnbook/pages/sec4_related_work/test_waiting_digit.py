"""The digit one has to wait for: the task, and a training run small enough to repeat."""

import numpy as np
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


def small(method: str, gains: tuple[float, ...], seeds: tuple[int, ...], updates: int = 3) -> list[task.Run]:
    sizes = {"batch": 6, "steps": 10, "units": 5, "updates": updates}
    return task.train(task.pixels(data.load("digits")), method=method, gains=gains, seeds=seeds, **sizes)


def test_a_run_does_not_depend_on_the_runs_beside_it() -> None:
    together = small("layer", (1.0, 0.1), (0, 1))
    assert [(r.gain, r.seed) for r in together] == [(1.0, 0), (1.0, 1), (0.1, 0), (0.1, 1)]
    (alone,) = small("layer", (0.1,), (1,))
    # batched products round otherwise than single ones
    np.testing.assert_allclose(alone.loss, together[3].loss, rtol=1e-4)


def test_runs_are_asked_by_setting_and_a_panel_shows_no_number_where_a_network_diverged() -> None:
    def run(method: str, seed: int, gain: float = 1.0, loss: float = 0.5) -> task.Run:
        return task.Run(method, gain, 32, seed, np.array([1.0, loss]), {9: 10 * gain, 18: 20 * gain}, np.nan)

    own = [run("batch", seed, gain=0.1) for seed in (0, 1)]
    other = [run("batch", seed) for seed in (0, 1)]
    lost = [run("layer", 0), run("layer", 1, loss=np.nan)]
    runs = task.Runs(9, [*own, *other, *lost])
    assert runs.of("batch") == own  # its own gain is 0.1
    assert runs.errors("batch").tolist() == [1.0, 1.0]
    assert runs.errors("batch", 1.0, times=2).tolist() == [20.0, 20.0]
    panel = runs.panel(32)
    assert list(panel) == ["layer", "batch"]
    assert np.isnan(panel["layer"]).all()
