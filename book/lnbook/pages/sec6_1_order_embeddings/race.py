"""Who is ahead in runs of order embeddings: updates or seconds to a recall, the best model, its test.

Rows are those of `lnbook.pages.sec6_1_order_embeddings.experiment`, of one scale. A quotient above 1 says
that layer norm is quicker.
"""

from collections.abc import Sequence
from math import isnan

import numpy as np
import pandas as pd

from lnbook.ledger.tables import Table
from lnbook.pages.sec6_1_order_embeddings.experiment import NORMS
from lnbook.pages.sec6_1_order_embeddings.ranking import TOP
from lnbook.shared.curves import Mean, band, mean_of, over, quotient, runs_of, updates_to
from lnbook.shared.wording import between, told
from lnbook.training import Row

__all__ = [
    "FIGURE_1",
    "METRICS",
    "MODELS",
    "figure_1",
    "fits",
    "gains",
    "slowest",
    "speed_up_table",
    "speed_ups",
    "summary",
    "table",
    "to_the_best",
]

FIGURE_1 = tuple(f"valid_image_r{k}" for k in TOP)
MODELS = {"Sym": ("none", 1, "cosine"), "OE": ("none", 1, "order"), "OE + LN": ("layer", 1, "order")}
METRICS = tuple(f"{way}_{kind}" for way in ("caption", "image") for kind in (*(f"r{k}" for k in TOP), "mean"))


def _runs(rows: Sequence[Row], norm: str, selected: int = 0, score: str = "order") -> dict[int, pd.DataFrame]:
    return runs_of(rows, norm, rows[0]["batch_size"], selected=selected, score=score)


def _pairs(rows: Sequence[Row]) -> list[tuple[int, pd.DataFrame, pd.DataFrame]]:
    without, layer = (_runs(rows, norm) for norm in NORMS)
    return [(seed, without[seed], layer[seed]) for seed in without if seed in layer]


def _time(run: pd.DataFrame, key: str, goal: float, axis: str) -> float:
    return updates_to(-goal, -run[key], run[axis])


def speed_ups(rows: Sequence[Row], key: str, axis: str = "update") -> dict[int, float]:
    """By seed, the baseline's updates over layer norm's to the highest recall that both reach.

    By straight lines between validations; NaN if a run is at its best untrained.

    Args:
        key: a recall, say of `FIGURE_1`.
        axis: "update", or "seconds" of training.
    """
    found = {}
    for seed, without, layer in _pairs(rows):
        goal = min(without[key].max(), layer[key].max())
        found[seed] = quotient(*(_time(run, key, goal, axis) for run in (without, layer)))
    return found


def speed_up_table(rows: Sequence[Row]) -> Table:
    """A line for each recall of Figure 1: `speed_ups` in updates and in seconds, with 95 % intervals."""
    lines = []
    for k, key in zip(TOP, FIGURE_1, strict=True):
        both = [mean_of(speed_ups(rows, key, axis), geometric=True) for axis in ("update", "seconds")]
        lines.append([f"R@{k}", *(f"{told(mean)} ({between(mean)})" for mean in both)])
    return Table(["", "Speed-up in updates (95 %)", "Speed-up in seconds (95 %)"], lines)


def figure_1(rows: Sequence[Row]) -> dict[int, dict[str, dict[str, np.ndarray]]]:
    """The curves of Figure 1: for each K and norm `update`, `mean`, `low` and `high` over seeds."""
    size = rows[0]["batch_size"]
    return {
        k: {norm: band(rows, norm, size, key, score="order") for norm in NORMS}
        for k, key in zip(TOP, FIGURE_1, strict=True)
    }


def slowest(rows: Sequence[Row], axis: str = "update") -> tuple[str, Mean]:
    """The recall of Figure 1 in which layer norm gains least, and its geometric mean over seeds.

    One that has no number comes first: nobody knows how little it is.
    """
    means = {key: mean_of(speed_ups(rows, key, axis), geometric=True) for key in FIGURE_1}
    key = min(means, key=lambda name: (not isnan(means[name].value), means[name].value))
    return key, means[key]


def fits(rows: Sequence[Row]) -> dict[int, float]:
    """As `speed_ups`, to the lowest training loss that both reach, each the mean of the updates since the row
    before."""
    found = {}
    for seed, *runs in _pairs(rows):
        goal = max(run["train_loss"].min() for run in runs)
        found[seed] = quotient(*(updates_to(goal, run["train_loss"], run["update"]) for run in runs))
    return found


def to_the_best(rows: Sequence[Row], axis: str = "update") -> dict[int, float]:
    """By seed, when layer norm's best validated model came over when the baseline's did; below 1: earlier."""
    selected = (_runs(rows, norm, selected=1) for norm in NORMS)
    without, layer = ({seed: float(run[axis].iloc[0]) for seed, run in runs.items()} for runs in selected)
    return over(layer, without)


def _tests(rows: Sequence[Row], metric: str, model: str) -> dict[int, float]:
    runs = _runs(rows, *MODELS[model])
    return {seed: float(run[f"test_{metric}"].iloc[0]) for seed, run in runs.items()}


def gains(rows: Sequence[Row], metric: str, of: str = "OE + LN", over: str = "OE") -> dict[int, float]:
    """By seed, a test metric of one of Table 2's models less another's, both as validation selects them."""
    ahead, behind = (_tests(rows, metric, model) for model in (of, over))
    return {seed: ahead[seed] - behind[seed] for seed in behind if seed in ahead}


def table(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Table 2's lines: means over seeds of the selected models' `METRICS` of the test."""
    tests = {model: [_tests(rows, metric, model) for metric in METRICS] for model in MODELS}
    return {m: [float(np.mean(list(t.values()))) for t in found] for m, found in tests.items() if found[0]}


def summary(rows: Sequence[Row]) -> dict[str, list[float]]:
    """What the page measures of Figure 1 and of the best model, by rule: one number per seed."""
    found = {"speedup": speed_ups(rows, slowest(rows)[0]), "fits": fits(rows)}
    found |= {"converges": to_the_best(rows), "seconds": to_the_best(rows, "seconds")}
    return {f"s61-{name}": list(of_seed.values()) for name, of_seed in found.items()}
