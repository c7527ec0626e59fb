"""What a run records: its rows, and the model that did best."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from lnbook.training.task import Row

__all__ = ["Run"]


@dataclass
class Run:
    """What a run has recorded so far.

    Attributes: `rows`; `best`, the selected model's value of `Task.select`, its `update` and `weights`;
    `selected`, in the end, a row of that model measured on `Task.last_parts`; and `wall_seconds`, all the
    time it took, evaluation and earlier sessions (up to their last checkpoints) included.
    """

    rows: list[Row] = field(default_factory=list)
    best: dict[str, Any] | None = None
    selected: Row | None = None
    wall_seconds: float = 0.0

    def add(self, row: Row, select: str | None, model: nn.Module, settings: Mapping[str, Any]) -> None:
        """Append a row; keep the weights if it is the best in the column `select`. NaN is worst.

        Raises ValueError if that column is missing, or one bears the name of a setting.
        """
        if twice := sorted(row.keys() & settings.keys()):
            raise ValueError(f"{twice} are both settings of a job and columns of its rows; rename one.")
        self.rows.append(row)
        if select is None:
            return
        if select not in row:
            raise ValueError(f"The task selects by {select!r}, which is none of the columns {list(row)}.")
        if self.best is None or row[select] < self.best["value"] or math.isnan(self.best["value"]):
            weights = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
            self.best = {"value": row[select], "update": row["update"], "weights": weights}

    def best_row(self) -> Row | None:
        """The row of the selected model as it was measured then; None if nothing selects."""
        if self.best is None:
            return None
        return next(row for row in self.rows if row["update"] == self.best["update"])
