"""Figure 6 from the stored runs of `permutation_mnist`: curves, comparisons seed by seed, and tables.

Whatever has not been run yet is left out of curves and tables, and is NaN in a comparison.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lnbook.ledger.tables import Table
from lnbook.ledger.verdicts import FEWEST
from lnbook.shared import curves
from lnbook.shared.curves import Mean
from lnbook.training import Row

__all__ = ["CASES", "RATE", "SELECTED", "Runs", "calibration_gap", "cell", "fewest_mistakes"]

CASES = 55_000  # of training
RATE = 1e-3  # of Adam, where none is named
Measure = Callable[[pd.DataFrame], float]


def overconfidence(rows: pd.DataFrame) -> pd.Series:
    """How much surer than right a network is, in points."""
    return 100 * (rows["test_confidence"] - 1 + rows["test_error"])


def calibration_gap(run: pd.DataFrame) -> float:
    """For `curves.each`: the `overconfidence` at the end."""
    return float(overconfidence(run).iloc[-1])


def fewest_mistakes(run: pd.DataFrame) -> float:
    """For `curves.each`: test error in percent when the validation cases have the fewest, first time."""
    return 100 * float(run["test_error"][run["valid_error"][1:].idxmin()])


SELECTED: Mapping[str, Measure] = {  # of the rows of selected models, one a run
    "Passes": lambda run: run["cases_seen"].iloc[0] / CASES,
    "Test error (%)": lambda run: 100 * run["test_error"].iloc[0],
    "Test NLL (nats)": lambda run: run["test_nll"].iloc[0],
    "Calibration error (%)": lambda run: 100 * run["test_calibration_error"].iloc[0],
}


def cell(mean: Mean, form: str = ".3g") -> str:
    """A mean with its interval for a table.

    >>> cell(Mean(2.0, 1.5, 2.5, 5)), cell(Mean(2.0, 1.5, 2.5, 3))
    ('2 [1.5, 2.5]', '2 (3 seeds)')
    """
    if mean.low is None or mean.high is None:
        return "-"
    if mean.n < FEWEST:
        return f"{mean.value:{form}} ({mean.n} seeds)"
    return f"{mean.value:{form}} [{mean.low:{form}}, {mean.high:{form}}]"


@dataclass(frozen=True)
class Runs:
    """The rows of many runs and how they came about."""

    rows: pd.DataFrame
    facts: Mapping[str, Any]

    @classmethod
    def stored(cls, folder: Path | None = None) -> "Runs":
        """All recorded runs, as `curves.stored` reads them; with `overconfidence`, in points."""
        paper, facts = curves.stored("permutation_mnist", scale="paper", folder=folder)
        study, more = curves.stored("permutation_mnist", scale="study", folder=folder)
        rows = pd.DataFrame([*paper, *study])
        runs = [{**f, "runs": None, **one} for f in (facts, more) for one in f["runs"]]
        whole = {"runs": runs, "seconds": facts["seconds"] + more["seconds"]}
        return cls(rows.assign(overconfidence=overconfidence(rows)), whole)

    def provenance(self) -> str:
        """Commits, versions, machine, date and hours."""
        made = [{**self.facts, **one} for one in self.facts["runs"]]
        known = {
            key: sorted({str(one.get(key)) for one in made}) for key in ("commit", "torch", "cpu", "date")
        }
        listed = "; ".join(f"{key} {', '.join(values)}" for key, values in known.items())
        return f"{len(made)} runs, {self.facts['seconds'] / 3600:.1f} hours; {listed}"

    def studies(self) -> Table:
        """How many seeds of which norm there are, one line per setting."""
        lines = []
        for setting, runs in self.rows.groupby(["batch_size", "rate", "epochs"], sort=False):
            seeds = runs.groupby("norm", sort=False)["seed"].nunique()
            lines.append([*(f"{v:g}" for v in setting), "; ".join(f"{n}: {k}" for n, k in seeds.items())])
        return Table(["Batch", "Step size", "Passes", "Norms, and how many seeds"], lines)

    def each(self, measure: Measure, norm: str, batch_size: int = 128, **also: Any) -> dict[int, float]:
        """`curves.each` at the usual step size."""
        return curves.each(self.rows, measure, norm, batch_size, **{"rate": RATE, **also})

    def quotients(
        self, measure: Measure, above: str = "batch", below: str = "layer", batch_size: int = 128
    ) -> dict[int, float]:
        """Two norms compared in each seed that both have: one's number over the other's."""
        one, other = (self.each(measure, norm, batch_size) for norm in (above, below))
        return curves.over(one, other)

    def ratio(
        self, measure: Measure, above: str = "batch", below: str = "layer", batch_size: int = 128
    ) -> Mean:
        """The geometric mean of these `quotients`."""
        return curves.mean_of(self.quotients(measure, above, below, batch_size), geometric=True)

    def speed(
        self, goals: Mapping[str, Sequence[float]], norms: Sequence[str]
    ) -> dict[str, dict[str, dict[float, Mean]]]:
        """Updates for one of layer norm's until a column falls to a goal: by column, norm and goal."""
        return {
            column: {norm: {g: self.ratio(curves.reached(g, column), norm) for g in values} for norm in norms}
            for column, values in goals.items()
        }

    def by_rate(self, measure: Measure, norms: Sequence[str]) -> dict[str, dict[float, Mean]]:
        """A mean for each norm and each step size that was run."""
        rates = sorted(self.rows["rate"].unique().tolist())
        return {n: {r: curves.mean_of(self.each(measure, n, rate=r)) for r in rates} for n in norms}

    def early(self, norms: Sequence[str], batch_size: int, passes: float) -> list[Row]:
        """The rows of the first passes, at every step size that was tried."""
        table = self.rows[self.rows["norm"].isin(norms) & (self.rows["batch_size"] == batch_size)]
        return table[table["cases_seen"] <= passes * CASES].to_dict("records")

    def curves(
        self, norms: Iterable[str], batch_size: int, column: str, factor: float = 1.0, **also: Any
    ) -> dict[str, dict[str, np.ndarray]]:
        """`curves.band` of the norms that at least two seeds were run with, and its `passes`."""
        found = {}
        for norm in norms:
            runs = curves.runs_of(self.rows, norm, batch_size, rate=RATE)
            lengths = [len(run) for run in runs.values()]
            if lengths.count(max(lengths, default=0)) > 1:
                drawn = curves.band(self.rows, norm, batch_size, column, factor, rate=RATE, **also)
                found[norm] = drawn | {"passes": drawn["update"] * batch_size / CASES}
        return found

    def table(
        self, names: Mapping[str, str], measures: Mapping[str, Measure], batch_size: int = 128, **also: Any
    ) -> Table:
        """Means with intervals: one line per norm that was run, one column per measure."""
        lines = []
        for norm, name in names.items():
            means = [curves.mean_of(self.each(m, norm, batch_size, **also)) for m in measures.values()]
            if any(mean.n > 1 for mean in means):
                lines.append([name, *map(cell, means)])
        return Table(["", *measures], lines or [["not run yet", *("-" for _ in measures)]])
