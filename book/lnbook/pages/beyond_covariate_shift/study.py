"""Forward statistics or their gradients: what each is worth in training, by taking the gradients away.

Networks of :mod:`lnbook.pages.beyond_covariate_shift.twins` at several step sizes, each method judged at
its best one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from lnbook.pages.beyond_covariate_shift.twins import Arrays, Twins, batches_of, final_losses, loss, train_run
from lnbook.training import Row, fit, sweep

Place = tuple[int, float]  # hidden layers, and the scale of their initial weights


@dataclass(frozen=True)
class Study:
    """Runs of several methods in several places, each with several starts."""

    rates: Sequence[float]  # of Adam
    rows: Mapping[tuple[int, float, str, float], Row]  # of `train_run`, by place, method and rate

    def losses(self, place: Place, norm: str) -> dict[float, float]:
        """The geometric mean of the final losses at each step size."""
        return {rate: np.exp(np.log(self.rows[*place, norm, rate]["loss"]).mean()) for rate in self.rates}

    def best(self, place: Place, norm: str, measure: str = "loss") -> Float[np.ndarray, " S"]:
        """Each start's final measure, at the step size of the lowest mean logarithmic loss."""
        losses = self.losses(place, norm)
        return self.rows[*place, norm, min(losses, key=lambda rate: losses[rate])][measure]


def study(
    arrays: Arrays,
    methods: Mapping[Place, Sequence[str]],
    *,
    units: int,
    rates: Sequence[float],
    processes: int | None,
    **common: Any,
) -> Study:
    """Train the methods of each place at each step size from the same starts; `processes` as in `sweep`."""
    jobs = [
        {"norm": norm, "hidden": (units,) * depth, "scale": scale, "rate": rate}
        for (depth, scale), norms in methods.items()
        for norm in norms
        for rate in rates
    ]
    rows = sweep(train_run, [job | common for job in jobs], common=(arrays,), processes=processes)
    return Study(rates, {(row["hidden"], row["scale"], row["norm"], row["rate"]): row for row in rows})


def switched(
    arrays: Arrays,
    first: str,
    second: str,
    *,
    hidden: Sequence[int],
    rates: Sequence[float],
    seeds: Sequence[int],
    updates: int,
) -> Float[np.ndarray, " S"]:
    """One method for a fifth of the updates, then another: final log losses, the mean over step sizes."""
    x, y = map(torch.from_numpy, arrays[:2])
    parts = (first, updates // 5), (second, updates - updates // 5)
    found = []
    for rate in rates:
        model = Twins((x.shape[1], *hidden, 10), first, seeds)
        batches = batches_of(x, y, 64, seeds)
        adam = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
        for model.norm, part in parts:
            fit(model, batches, loss, adam, updates=part, every=part)
        found.append(final_losses(model, x, y).log().numpy())
    return np.mean(found, 0)
