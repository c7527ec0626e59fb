"""Reading the ConvNet's rows: one kind of runs, all seeds; two kinds against each other, seed by seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from lnbook.ledger.intervals import interval
from lnbook.pages.sec6_7_convnets.model import Padding
from lnbook.shared.curves import quotient, reached
from lnbook.training import Row

__all__ = ["Runs"]


class Runs:
    """The rows of `lnbook.pages.sec6_7_convnets.experiment`, by kind: a norm, the padding, and the pictures.

    Args:
        rows: of many runs, those of one run in order.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = pd.DataFrame(rows)
        self.layers = range(1, 1 + sum(key.startswith("dead_") for key in self.rows))
        self.updates = int(self.rows["update"].max())

    def table(
        self, key: str, norm: str, padding: Padding = "zeros", pictures: str = "centered"
    ) -> Float[np.ndarray, "seeds times"]:
        """A column: a line a seed, in order; the first time is before training.

        Raises ValueError if there are no such runs.
        """
        kind = {"norm": norm, "padding": padding, "pictures": pictures}
        found = self.rows[(self.rows[list(kind)] == pd.Series(kind)).all(axis=1)]
        if found.empty:
            raise ValueError(f"no runs with {kind}; the norms are {sorted(self.rows['norm'].unique())}")
        return np.array([run for _, run in found.groupby("seed")[key]], dtype=float)

    def curve(self, key: str, norm: str) -> dict[str, Sequence[float]]:
        """A curve to draw: `update`, and `mean`, `low`, `high` over seeds, after training began."""
        drawn = [interval(column) for column in self.table(key, norm)[:, 1:].T]
        mean, low, high = zip(*drawn, strict=True)
        return {
            "update": self.table("update", norm)[0, 1:].tolist(),
            "mean": mean,
            "low": low,
            "high": high,
        }

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
        columns = (self.table(key, norm, **kind) for key in ("update", "train_loss"))
        return [pd.DataFrame({"update": u, "train_loss": x}) for u, x in zip(*columns, strict=True)]

    def at_border(self, norm: str, layer: int, time: int) -> Float[np.ndarray, " seeds"]:
        """The share that is on at the border of a layer over that in its center."""
        border, center = (self.table(f"on_{side}_{layer}", norm)[:, time] for side in ("border", "center"))
        return border / center

    def over_layers(self, key: str, norm: str, time: int = -1) -> Float[np.ndarray, " seeds"]:
        """A statistic of the layers, averaged over them."""
        return np.mean([self.table(f"{key}_{layer}", norm)[:, time] for layer in self.layers], 0)
