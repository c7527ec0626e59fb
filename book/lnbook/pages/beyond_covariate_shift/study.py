"""Forward statistics or their gradients: what each is worth in training, by taking the gradients away.

Networks of :mod:`lnbook.pages.beyond_covariate_shift.twins` at several step sizes, each method judged at
its best one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from lnbook.ledger.recorded import load_recorded
from lnbook.ledger.rows import book_dir
from lnbook.ledger.rules import load_rules
from lnbook.ledger.verdicts import Measurement
from lnbook.pages.beyond_covariate_shift.twins import Arrays, train_run
from lnbook.training import Row, sweep

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


def recorded(ids: Collection[str]) -> dict[str, Measurement]:
    """What `book/results/` holds for these rules; nothing where lnbook is installed without a checkout."""
    if (place := book_dir()) is None:
        return {}
    return load_recorded([rule for rule in load_rules() if rule.id in ids], folder=place / "results")[0]
