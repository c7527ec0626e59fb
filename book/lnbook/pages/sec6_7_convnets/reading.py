"""Reading the ConvNet's rows: one kind of runs, all seeds; two kinds against each other, seed by seed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from lnbook.ledger.intervals import interval
from lnbook.pages.sec6_7_convnets.experiment import RATE
from lnbook.pages.sec6_7_convnets.model import Padding
from lnbook.shared.curves import quotient, reached, stored
from lnbook.shared.own_step import chosen_steps
from lnbook.training import Row

__all__ = ["Runs"]


class Runs:
    """The rows of `lnbook.pages.sec6_7_convnets.experiment`, by kind.

    A kind is a norm, the `padding`, the `pictures` and Adam's step size, `rate`; None stands for each run's
    own step size, `own_steps`.

    Args:
        rows: of many runs on one set of pictures, those of one run in order.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = pd.DataFrame(rows)
        self.layers = range(1, 1 + sum(key.startswith("dead_") for key in self.rows))
        self.updates = int(self.rows["update"].max())

    @classmethod
    def recorded(cls, data: str, passes: float = 2, folder: Path | None = None) -> "Runs":
        """Those of the recorded study on a set of pictures, of so many passes over it.

        Errors as of `lnbook.shared.curves.stored`.
        """
        rows, _ = stored("convnet", folder=folder)
        return cls([row for row in rows if row["data"] == data and row["epochs"] == passes])

    def each(
        self,
        norm: str,
        *,
        padding: Padding = "zeros",
        pictures: str = "centered",
        rate: float | None = RATE,
    ) -> dict[int, pd.DataFrame]:
        """The runs of a kind, by seed.

        Raises ValueError if there are none.
        """
        if rate is None:
            own = self.own_steps(norm, padding=padding, pictures=pictures)
            runs = {r: self.each(norm, padding=padding, pictures=pictures, rate=r) for r in set(own.values())}
            return {seed: runs[step][seed] for seed, step in own.items()}
        found = self._of(norm=norm, padding=padding, pictures=pictures, rate=rate)
        return {int(seed): run for seed, run in found.groupby("seed")}

    def _of(self, **kind: Any) -> pd.DataFrame:
        found = self.rows[(self.rows[list(kind)] == pd.Series(kind)).all(axis=1)]
        if found.empty:
            raise ValueError(f"no runs with {kind}; the norms are {sorted(self.rows['norm'].unique())}")
        return found

    def own_steps(
        self, norm: str, *, padding: Padding = "zeros", pictures: str = "centered"
    ) -> dict[int, float]:
        """For each seed the step size whose lowest test loss is least on the other seeds."""
        found = self._of(norm=norm, padding=padding, pictures=pictures)
        return chosen_steps(found, lambda run: run["test_nll"].min(skipna=False))[norm]

    def table(self, key: str, norm: str, **kind: Any) -> Float[np.ndarray, "seeds times"]:
        """A column: one line per seed, in order; the first time is before training."""
        return np.array([run[key] for run in self.each(norm, **kind).values()], dtype=float)

    def curve(self, key: str, norm: str, **kind: Any) -> dict[str, Sequence[float]]:
        """A curve to draw: `update`, and `mean`, `low`, `high` over seeds, after training began.

        Of a measure of test cases only the rows that are of as many as the first: the last row is of all.
        """
        updates, values = (self.table(column, norm, **kind) for column in ("update", key))
        drawn = np.arange(values.shape[1]) > 0
        if key.startswith("test_"):
            cases = self.table("test_cases", norm, **kind)[0]
            drawn &= cases == cases[0]
        mean, low, high = zip(*(interval(column) for column in values[:, drawn].T), strict=True)
        return {"update": updates[0, drawn].tolist(), "mean": mean, "low": low, "high": high}

    def excess(
        self, norm: str, other: str, key: str = "train_loss", **kind: Any
    ) -> Float[np.ndarray, " seeds"]:
        """By how many percent a norm ends above another, for each seed."""
        return 100 * (self.table(key, norm, **kind)[:, -1] / self.table(key, other, **kind)[:, -1] - 1)

    def speed_ups(self, norm: str, other: str, **kind: Any) -> Float[np.ndarray, " seeds"]:
        """Updates of a norm over those that another takes to the norm's last training loss, for each seed.

        Both read off straight lines between the rows; 0 if the other never gets there.
        """
        found = []
        for own, theirs in zip(self._losses(norm, **kind), self._losses(other, **kind), strict=True):
            arrives = reached(own["train_loss"].iloc[-1])
            found.append(quotient(arrives(own), arrives(theirs)))
        return np.array(found)

    def _losses(self, norm: str, **kind: Any) -> list[pd.DataFrame]:
        """Updates and training losses, a table a seed; the first row has no loss."""
        runs = self.each(norm, **kind).values()
        return [run[["update", "train_loss"]].astype(float).reset_index(drop=True) for run in runs]

    def at_border(self, norm: str, layer: int, time: int) -> Float[np.ndarray, " seeds"]:
        """The share that is on at the border of a layer over that in its center."""
        border, center = (self.table(f"on_{side}_{layer}", norm)[:, time] for side in ("border", "center"))
        return border / center

    def over_layers(self, key: str, norm: str, time: int = -1) -> Float[np.ndarray, " seeds"]:
        """A statistic of the layers, averaged over them."""
        return np.mean([self.table(f"{key}_{layer}", norm)[:, time] for layer in self.layers], 0)
