"""Section 1's race of plain gradient descent, on invented curves."""

import math

import pytest

from lnbook.pages.sec1_introduction import plain_descent as descent
from lnbook.training import Row


def run(norm: str, rate: float, seed: int, errors: list[float], loss: float) -> list[Row]:
    of = {"norm": norm, "batch_size": descent.BATCH, "rate": rate, "seed": seed}
    return [
        of | {"update": 10 * k, "test_error": error, "train_loss": loss} for k, error in enumerate(errors)
    ]


SLOW, FAST, NEVER = [0.9, 0.7, 0.5, 0.4, 0.3], [0.9, 0.5, 0.3, 0.2, 0.1], [0.9, 0.8, 0.8, 0.8, 0.8]


def rows(batch: list[float]) -> list[Row]:
    found: list[Row] = []
    for seed in (0, 1):
        found += run("none", 0.1, seed, NEVER, 2.0) + run("none", 0.3, seed, SLOW, 1.0)
        found += run("none", 1.0, seed, SLOW[:3], 0.1)  # it diverged
        found += run("batch", 0.1, seed, NEVER, 2.0) + run("batch", 0.3, seed, NEVER, 1.5)
        found += run("batch", 1.0, seed, batch, 1.0)
    return found


def test_a_step_size_at_which_a_run_diverges_is_never_the_best():
    assert descent.best_rate(rows(FAST), "none") == 0.3
    assert descent.best_rate(rows(FAST), "batch") == 1.0
    lossless = [row | {"train_loss": math.nan} if row["rate"] == 0.3 else row for row in rows(FAST)]
    assert descent.best_rate(lossless, "none") == 0.1


def test_a_factor_is_the_time_to_the_error_half_way_of_the_run_without_norm():
    assert descent.factors(rows(FAST)) == pytest.approx([2.0, 2.0])  # 0.5 at updates 20 and 10
    assert descent.factors(rows(NEVER)) == [0.0, 0.0]
