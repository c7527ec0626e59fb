"""Experiment 6.4: that it learns, and on what it is measured."""

import pytest

from lnbook.pages.sec6_4_draw.experiment import EXPERIMENT
from lnbook.training import Machine, train


def test_the_smoke_run_learns_digits() -> None:
    job = next(job for job in EXPERIMENT.jobs("smoke", 0) if job["norm"] == "none")
    found = train(EXPERIMENT.task(job, "smoke", Machine())).rows
    assert [row["update"] for row in found] == sorted({row["update"] for row in found})
    first, last = found[0], found[-1]
    # 64 log 2 = 44.4 nats is a coin a pixel; each pixel at its own frequency is 26.0
    assert last["test_bound"] < 27.5 < 43 < first["test_bound"]
    assert last["test_bound"] == pytest.approx(last["test_log_loss"] + last["test_divergence"])
    assert (last["valid_cases"], last["test_cases"]) == (119, 360)
    assert found[1]["test_cases"] == 120
