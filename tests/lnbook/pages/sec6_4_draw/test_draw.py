"""Experiment 6.4: its runs, its task, and that it learns."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.sec6_4_draw import experiment as draw
from lnbook.pages.sec6_4_draw.experiment import EXPERIMENT, STUDIES, Drawing
from lnbook.training import Machine, noise_of, train

SMALL = {
    "glimpses": 2,
    "units": 6,
    "codes": 2,
    "read": 2,
    "write": 3,
    "batch_size": 64,
    "updates": 4,
    "rows": 2,
    "quick": 20,
}


def task(norm: str = "layer", machine: Machine | None = None, **changes: int) -> Drawing:
    images = data.load("binarized_digits")
    return Drawing(images, machine or Machine(), norm=norm, seed=0, **(SMALL | changes))


def test_the_paper_scale_is_the_papers() -> None:
    first = EXPERIMENT.jobs("paper", 0)[0]
    assert {k: first[k] for k in ("glimpses", "units", "codes", "read", "write")} == {
        "glimpses": 64,
        "units": 256,
        "codes": 100,
        "read": 2,
        "write": 5,
    }
    assert first["updates"] == 200 * (50_000 // 128)
    assert first["batch_size"] == 128


@pytest.mark.parametrize("scale", STUDIES)
def test_runs_differ_in_norm_and_seed_and_share_their_keys(scale: str) -> None:
    jobs = EXPERIMENT.jobs(scale, 5)
    asked = sum(len(s.norms) * s.seeds for s in STUDIES[scale])
    assert len({tuple(job.items()) for job in jobs}) == len(jobs) == asked
    assert len({tuple(job) for job in jobs}) == 1
    assert jobs[0]["seed"] == 5
    pairs = [job for job in jobs if job["norm"] in draw.NORMS]
    if scale != "paper":
        assert {job["norm"] for job in pairs[:2]} == set(draw.NORMS)  # a pair is done before the next


def test_the_smoke_run_learns_digits() -> None:
    job = next(job for job in EXPERIMENT.jobs("smoke", 0) if job["norm"] == "none")
    found = train(EXPERIMENT.task(job, "smoke", Machine()), job=job).rows
    assert [row["update"] for row in found] == sorted({row["update"] for row in found})
    first, last = found[0], found[-1]
    # 64 log 2 = 44.4 nats is a coin a pixel; each pixel at its own frequency is 26.0
    assert last["test_bound"] < 27.5 < 43 < first["test_bound"]
    assert last["test_bound"] == pytest.approx(last["test_log_loss"] + last["test_divergence"])
    assert (last["valid_cases"], last["test_cases"]) == (119, 360)
    assert found[1]["test_cases"] == 120


@pytest.mark.parametrize("norm", draw.NORMS)
def test_equal_seeds_give_equal_rows(norm: str) -> None:
    def rows() -> list[dict[str, float]]:
        found = train(task(norm)).rows
        return [{k: v for k, v in row.items() if k != "seconds"} for row in found]

    assert rows() == rows()


def test_processes_share_a_batch_evenly_and_draw_different_noise() -> None:
    shares = [task(machine=Machine(rank=rank, world=2)) for rank in range(2)]
    whole = next(iter(task().batches))[0]
    halves = [next(iter(share.batches))[0] for share in shares]
    assert torch.equal(torch.stack(halves, 1).flatten(0, 1), whole)
    one, other = (shares[0].loss(shares[0].model, (whole,), noise_of(0, 0, rank)) for rank in range(2))
    assert one != other


def test_float64_is_float64_to_the_end_and_near_float32() -> None:
    double, single = task(machine=Machine(dtype=torch.float64)), task()
    cases = next(iter(single.batches))
    losses = [t.loss(t.model, cases, noise_of(0, 0)) for t in (double, single)]
    assert losses[0].dtype == torch.float64
    assert abs(losses[0] - losses[1]) < 1e-4  # of about 45: rounding of 64 pixels in float32


def test_grey_pixels_are_refused() -> None:
    grey = data.load("digits")
    with pytest.raises(ValueError, match="must be 0 or 1, and go up to 16"):
        Drawing(grey, Machine(), norm="none", seed=0, **SMALL)


def test_quick_measures_a_part_evenly_and_the_last_row_all() -> None:
    few = task(quick=20)
    assert len(few.parts["test"][0]) == 20
    np.testing.assert_array_equal(few.parts["test"][0].numpy(), data.load("binarized_digits").test_x[::18])
    assert len(few.last_parts["test"][0]) == 360
    assert few.parts.keys() == few.last_parts.keys() == {"valid", "test"}
    assert len(task(quick=0).parts["test"][0]) == 360


def test_the_measure_does_not_depend_on_how_cases_are_grouped() -> None:
    t = task()
    cases = tuple(a[:10] for a in t.last_parts["test"])
    with torch.no_grad():
        found = t.measure(t.model, cases, noise_of(0, -1, 1))
        log_loss, divergence = t.bound(t.model, cases, noise_of(0, -1, 1))
    assert found["bound"] == pytest.approx(float((log_loss + divergence).sum()), rel=1e-6)
    assert replace(Machine(), rank=0) == Machine()
