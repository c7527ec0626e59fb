"""What becomes of an experiment's runs: a table to read, rows with their provenance, and the record."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from lnbook.curves import mean_of
from lnbook.ledger.rows import as_csv, read_facts, write_pair
from lnbook.training.checkpoint import Outcome
from lnbook.training.task import Row

CLOCK = ("update", "cases_seen", "seconds", "selected", "train_loss")


class UsageError(ValueError):
    """The command line asks for something that does not exist, or must not be."""


def gather(name: str, outcomes: Sequence[Outcome], scale: str, folder: Path, **said: list[str]) -> Path:
    """Write `<name>.csv`, the rows of all runs, and `<name>.json`, how they came about.

    Facts and rules that all runs share stand once, the others and the seconds of each under `runs`.
    """
    runs = [{**o.facts, "failed": o.failed} for o in outcomes]
    rules = dict(sorted(set.intersection(*(set(r.pop("rules", {}).items()) for r in runs))))
    names = [k for k in runs[0] if k != "seconds"]  # each run keeps its own, even if all agree
    common = {k: runs[0][k] for k in names if all(k in r and r[k] == runs[0][k] for r in runs)}
    own = [{k: v for k, v in r.items() if k not in common} for r in runs]
    seconds = round(sum(r["seconds"] for r in runs), 1)
    facts = common | {"rules": rules, "scale": scale, "runs": own, "seconds": seconds} | said
    write_pair(folder / f"{name}.csv", as_csv([row for o in outcomes for row in o.rows]), facts)
    return folder / f"{name}.csv"


def record(
    name: str, outcomes: Sequence[Outcome], runs: int, scale: str, folder: Path, anyway: bool = False
) -> Path:
    """Gather in `<folder>/<scale>`, where results are recorded, the outcomes of a scale of so many `runs`.

    With objections the record stays as it is; or, `anyway`, its provenance names them.
    """
    found = objections(outcomes, runs)
    if found and not anyway:
        raise UsageError(
            f"Nothing is recorded: {'; '.join(found.values())}. Fix that and give --resume --record; to "
            f"record it with a note in the provenance, add --anyway."
        )
    before: dict[str, Any] = {"runs": []}
    with suppress(FileNotFoundError):
        before = read_facts(name, scale=scale, folder=folder)
    seen = [run.get("job", before.get("job")) for run in before["runs"]]
    # a run that is made again keeps the rules under which its seed was first seen
    first = {"rules": before.get("rules", {})}
    kept = [replace(o, facts={**o.facts, **first}) if o.job in seen else o for o in outcomes]
    return gather(name, kept, scale, folder / scale, **({"accepted": sorted(found)} if found else {}))


def objections(outcomes: Sequence[Outcome], runs: int) -> dict[str, str]:
    """Why these outcomes should not become the record of a scale, by the word that stands in it then."""
    found = {}
    if len(outcomes) < runs:
        found["partial"] = f"{len(outcomes)} of {runs} runs have finished"
    if missed := stand_ins(outcomes):
        found["stand-in"] = " ".join(missed).rstrip(".")
    if dirty := sorted({o.facts["commit"] for o in outcomes if o.facts["commit"].endswith("+")}):
        found["dirty"] = f"runs were made by code that differs from its commit ({', '.join(dirty)})"
    return found


def stand_ins(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each data set that runs wanted and did not get, by the facts recorded with them."""
    read = [data for outcome in outcomes for data in outcome.facts.get("data", [])]
    pairs = dict.fromkeys((data.get("requested", data["name"]), data["name"]) for data in read)
    return [f"{asked} was not available; {name} stood in for it." for asked, name in pairs if asked != name]


def summary(rows: Sequence[Row], settings: Sequence[str]) -> str:
    """The selected models, or last rows, a line a setting: means over seeds with 95 % intervals.

    >>> row = {"norm": "layer", "selected": 1, "update": 9}
    >>> print(summary([row | {"seed": k, "test_nll": 1.0 + k} for k in (0, 1, 2)], ["norm", "seed"]))
     norm test_nll  seeds
    layer  2 ± 2.5      3
    """
    table = pd.DataFrame(rows)
    ends = table.groupby(list(settings), sort=False).tail(1)  # a run's selected row is its last
    keys = [key for key in settings if key != "seed" and table[key].nunique() > 1] or [settings[0]]
    measured = [name for name in table if name not in (*settings, *CLOCK) and not name.endswith("_cases")]
    shown = [name for name in measured if name.startswith("test_")] or measured
    groups = ends.groupby(keys, sort=False)
    return groups[shown].agg(_cell).assign(seeds=groups.size()).reset_index().to_string(index=False)


def _cell(values: "pd.Series[float]") -> str:
    mean, low, *_ = mean_of(values)
    return f"{mean:.4g}" if low is None else f"{mean:.4g} ± {mean - low:.2g}"
