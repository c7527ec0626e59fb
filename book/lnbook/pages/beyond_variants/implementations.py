r"""Thirteen layer-normalized LSTMs that people use, and the settings with which `LSTM` computes each.

All of them call themselves the LSTM of this paper. They differ in what is normalized together, where the
biases act, which cell is carried to the next step, and in $\epsilon$. *Source* each project's own code; the
table beside this file also has the order of their gates, their initial forget bias, and what else to know.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnlib.rnn.variants import Variant


@dataclass(frozen=True)
class Implementation:
    """One public implementation."""

    title: str  # what it is called, and by whom
    row: Variant  # what is normalized where
    eps: float
    bias: str  # where biases act

    @property
    def normalized(self) -> str:
        """What shares one mean and one standard deviation, in words."""
        if self.row.gates == "none":
            return "the cell only"
        what = "sum" if self.row.gates == "joint" else "each projection"
        return f"{what}, gate by gate" if self.row.per_gate else f"{what}, all gates"

    @property
    def carried(self) -> str:
        """Which cell the next step starts from."""
        return "normalized" if self.row.cell == "carried" else "raw"

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords for :class:`lnlib.rnn.LSTM`."""
        return {"variant": self.row, "eps": self.eps}


with Path(__file__).with_name("implementations.csv").open(encoding="utf-8") as _file:
    IMPLEMENTATIONS = {
        row["name"]: Implementation(
            row["title"],
            Variant(
                row["gates"],
                per_gate=bool(row["per_gate"]),
                cell=row["cell"],
                inner_bias=row["inner_bias"],
                unbiased=bool(row["unbiased"]),
            ),
            float(row["eps"]),
            row["bias"],
        )
        for row in csv.DictReader(_file)
    }
