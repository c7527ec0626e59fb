"""Section 6.6's runs made together: each is the run that the training loop makes alone."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lnbook.data import load
from lnbook.shared.permutation_mnist import NORMS, Classification, Norm
from lnbook.shared.permutation_mnist_right import EXPERIMENT
from lnbook.shared.permutation_mnist_stacked import train_together
from lnbook.training import Job, Machine, runs, train


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("batch_size", [4, 128])
def test_runs_made_together_are_those_made_alone(norm: Norm, batch_size: int) -> None:
    """Over more than an epoch; in double precision, where only the order of sums differs."""
    machine, images = Machine(dtype=torch.float64), load("digits")
    few = replace(images, train_x=images.train_x[:150], train_y=images.train_y[:150])
    jobs: list[Job] = [
        {"norm": norm, "batch_size": batch_size, "seed": seed, "rows": 3, "epochs": 2.5} for seed in (0, 7)
    ]

    def tasks() -> list[Classification]:
        return [Classification(few, (9, 8), machine, **job) for job in jobs]

    alone = [train(task, machine=machine) for task in tasks()]
    for run, other in zip(train_together(tasks(), jobs, machine), alone, strict=True):
        assert run.selected
        assert other.selected
        assert (run.update, run.cases_seen) == (other.update, other.cases_seen)
        for row, expected in zip([*run.rows, run.selected], [*other.rows, other.selected], strict=True):
            assert row["train_loss"] is not None or row["update"] == 0
            of = {name: value for name, value in expected.items() if value is not None and name != "seconds"}
            assert {name: row[name] for name in of} == pytest.approx(of, rel=1e-9, abs=1e-12)


def test_runs_made_together_leave_what_others_leave_and_finished_ones_stay(tmp_path: Path) -> None:
    """On a CPU by another door: `run` asks for it on a GPU only."""
    jobs = [job for job in runs.jobs_of(EXPERIMENT, "smoke") if job["norm"] == "none"]
    jobs = [{**job, "epochs": 0.02, "rows": 1} for job in jobs]
    door = runs.Runs(EXPERIMENT, "smoke", Machine(), tmp_path)
    first = door.together(jobs[:1])
    made = door.together(jobs)
    assert made[0].rows == first[0].rows
    assert [outcome.facts["together"] for outcome in made] == [1, 1]
    for outcome, other in zip(made, runs.run(EXPERIMENT, "smoke", jobs=jobs), strict=True):
        assert not outcome.failed
        assert [set(row) for row in outcome.rows] == [set(row) for row in other.rows]
        assert outcome.facts["rules"] == other.facts["rules"]
    assert made == runs.run(EXPERIMENT, "smoke", jobs=jobs, folder=tmp_path)
    assert (tmp_path / runs.label(jobs[1]) / "selected.pt").is_file()


def test_a_nan_in_one_run_ends_that_run_alone() -> None:
    """Both ways: what is left says the same, and the run beside it has the rows that it has alone."""
    jobs = [job for job in runs.jobs_of(EXPERIMENT, "smoke") if job["norm"] == "none"][:2]
    jobs = [{**job, "epochs": 0.02, "rows": 1} for job in jobs]

    def task(job: Job, scale: str, machine: Machine) -> Classification:
        made = EXPERIMENT.task(job, scale, machine)
        if job == jobs[0]:
            torch.nn.init.constant_(made.model[0].weight, torch.nan)
        return made

    door = runs.Runs(replace(EXPERIMENT, task=task), "smoke", Machine())
    made, alone = door.together(jobs), [door.one(job) for job in jobs]
    assert "nan at update 1;" in made[0].failed
    assert [outcome.failed for outcome in made] == [outcome.failed for outcome in alone]
    assert [len(outcome.rows) for outcome in made] == [len(outcome.rows) for outcome in alone] == [1, 3]
