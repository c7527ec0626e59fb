r"""Thirteen layer-normalized LSTMs that people use, and the settings with which `LSTM` computes each.

All of them call themselves the LSTM of this paper. They differ in what is normalized together, where the
biases act, which cell is carried to the next step, and in $\epsilon$. *Source* each project's own code; the
table beside this file also has the order of their gates, their initial forget bias, and what else to know.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnlib.rnn.variants import VARIANTS, Variant


@dataclass(frozen=True)
class Implementation:
    """One public implementation."""

    title: str  # what it is called, and by whom
    variant: str | Variant  # the name of ours, or a row where no name has it
    eps: float
    bias: str  # where biases act

    @property
    def row(self) -> Variant:
        """What is normalized where."""
        return VARIANTS["LSTM"][self.variant] if isinstance(self.variant, str) else self.variant

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
        return "normalized" if self.row.cell in ("carried", "next") else "raw"

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords for :class:`lnlib.rnn.LSTM`."""
        return {"variant": self.variant, "eps": self.eps}


def _variant(words: str) -> str | Variant:
    """The name of a variant of ours; or a row, from words such as "joint, per gate, carried"."""
    if words in VARIANTS["LSTM"]:
        return words
    gates, *rest = words.split(", ")
    inside = [word.removeprefix("bias inside ") for word in rest if word.startswith("bias inside ")]
    (cell,) = {"output", "carried"} & set(rest)
    return Variant(
        gates,
        per_gate="per gate" in rest,
        cell=cell,
        inner_bias="".join(inside),
        unbiased="unbiased" in rest,
    )


with Path(__file__).with_name("implementations.csv").open(encoding="utf-8") as _file:
    IMPLEMENTATIONS = {
        row["name"]: Implementation(row["title"], _variant(row["variant"]), float(row["eps"]), row["bias"])
        for row in csv.DictReader(_file)
    }
