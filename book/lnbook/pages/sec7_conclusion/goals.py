"""A speed-up at every goal: how it depends on how far a network must get."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import pandas as pd

from lnbook.shared.curves import Mean, Rows, mean_of, quotient, runs_of, updates_to

__all__ = ["RACES", "SHARES", "Race", "at_goals", "means", "one_sided"]

SHARES = tuple(k / 40 for k in range(20, 41))  # of the baseline's fall, from half of it to its lowest point


@dataclass(frozen=True)
class Race:
    """Recorded runs with and without layer norm, and what falls in them.

    Args:
        experiment: whose rows of scale "study".
        title: of what falls.
        falls: makes a column that falls of a run's rows.
        batch_size, only: settings of the runs that race.
    """

    experiment: str
    title: str
    falls: Callable[[pd.DataFrame], pd.Series]
    batch_size: int
    only: Mapping[str, Any] = field(default_factory=dict)


RACES = {  # by section of the paper
    "6.1": Race(
        "order_embedding",
        "recall at 10",
        lambda r: -r["valid_image_r10"],
        128,
        {"score": "order", "rate": 0.001},
    ),
    "6.2": Race(
        "attentive_reader",
        "error",
        lambda r: r["valid_error"],
        64,
        {"gain": 1.0, "start": "small", "rate": 0.002},
    ),
    "6.3": Race(
        "skip_thoughts",
        "nats per word",
        lambda r: r["valid_nats_per_word"],
        32,
        {"decoder": "code", "rate": 0.002},
    ),
    "6.4": Race("draw", "bound", lambda r: r["test_bound"], 128, {"rate": 0.001}),
    "6.5": Race(
        "handwriting",
        "nats, new people",
        lambda r: (r["valid_nats"] + r["test_nats"]) / 2,
        8,
        {"rate": 0.003, "updates": 500},
    ),
}


def at_goals(rows: Rows, race: Race, shares: Sequence[float] = SHARES) -> dict[float, dict[int, float]]:
    """By goal, by seed, the updates without a norm over those with layer norm; 0 if layer norm never arrives.

    A goal is a share of the fall of the seed's own baseline, from its first measurement to its lowest. Goals
    that a run passes before its first measurement in training are left out: a straight line is all we know.
    """
    none, layer = (runs_of(rows, norm, race.batch_size, **race.only) for norm in ("none", "layer"))
    found: dict[float, dict[int, float]] = {share: {} for share in shares}
    for seed in sorted(none.keys() & layer.keys()):
        pair = [(race.falls(run), run["update"]) for run in (none[seed], layer[seed])]
        start, lowest = pair[0][0].iloc[0], pair[0][0].min()
        for share in list(found):
            goal = start - share * (start - lowest)
            if any(losses.iloc[1] < goal for losses, _ in pair):
                del found[share]
            else:
                found[share][seed] = quotient(*(_updates(*run, goal) for run in pair))
    return found


def means(found: Mapping[float, Mapping[int, float]]) -> dict[float, Mean]:
    """The geometric means with their intervals, for the goals at which all runs arrive."""
    told = {share: mean_of(dict(pairs), geometric=True) for share, pairs in found.items()}
    return {share: mean for share, mean in told.items() if mean.low is not None}


def one_sided(found: Mapping[float, Mean]) -> bool:
    """Whether the same network is ahead at every goal."""
    return len({mean.value > 1 for mean in found.values()}) == 1


def _updates(losses: pd.Series, updates: pd.Series, goal: float) -> float:
    return updates_to(goal, losses, updates) if losses.min() <= goal else inf
