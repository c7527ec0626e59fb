"""A run whose update is a CUDA graph, or whose draws are made before its update, is the run of the loop."""

import pytest
import torch

from lnbook.cli.experiments import find
from lnbook.training import Cases, Machine, Task, runs, train
from lnbook.training.loop import step

NAMES = "draw_early", "permutation_mnist_right"
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="a graph needs a GPU")


def short(name: str) -> list:
    """Two runs of a few updates."""
    changes = {"updates": 12, "rows": 2} if name == "draw_early" else {"epochs": 0.03, "rows": 2}
    return [{**job, **changes} for job in runs.jobs_of(find(name), "smoke")[:2]]


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_what_was_drawn_before_is_the_loss(name: str) -> None:
    def later(task: Task, model: torch.nn.Module, cases: Cases, noise: torch.Generator) -> torch.Tensor:
        return step(task, model, task.drawn(cases, noise), torch.Generator().manual_seed(-1 % 2**31))

    one, other = (
        train(find(name).task(short(name)[0], "smoke", Machine()), step=how).rows for how in (step, later)
    )
    assert [r["train_loss"] for r in one] == [r["train_loss"] for r in other]


@GPU
@pytest.mark.parametrize("name", NAMES)
def test_runs_side_by_side_are_those_made_alone(name: str) -> None:
    machine = Machine(torch.device("cuda"))
    alone = [runs.Runs(find(name), "smoke", machine).one(job) for job in short(name)]
    for made, expected in zip(
        runs.run(find(name), "smoke", jobs=short(name), machine=machine), alone, strict=True
    ):
        for row, other in zip(made.rows, expected.rows, strict=True):
            numbers = {k: v for k, v in other.items() if isinstance(v, float) and k != "seconds"}
            assert {k: row[k] for k in numbers} == pytest.approx(numbers, rel=1e-4), "kernels may differ"
