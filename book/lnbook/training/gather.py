"""The rows of an experiment's runs in one file, and how they came about in another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lnbook.ledger.pairs import write_pair
from lnbook.ledger.rows import as_csv
from lnbook.training.checkpoint import RunFolder
from lnbook.training.errors import CheckpointError, output_error
from lnbook.training.files import make_folder
from lnbook.training.runs import Outcome, label, unfinished
from lnbook.training.task import Experiment, Job

__all__ = ["collect", "gather"]


def collect(folder: Path, jobs: Sequence[Job], *, partial: bool = False) -> tuple[list[Outcome], list[str]]:
    """The outcomes that these jobs left in the folder of their runs, and what could not be read.

    With `partial`, also those of runs that have not finished: see `lnbook.training.runs.unfinished`.
    """
    outcomes, unreadable = [], []
    for job in jobs:
        path = folder / label(job)
        try:
            kept = RunFolder.outcome_in(path)
        except CheckpointError as error:
            unreadable.append(f"{error} Go on with --resume: it is made anew.")
            kept = None
        if kept:
            outcomes.append(Outcome(job, kept["rows"], kept["facts"], kept["failed"]))
        elif partial and (found := unfinished(path, job)):
            outcomes.append(found)
    return outcomes, unreadable


def gather(
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    scale: str,
    folder: Path,
    *,
    accepted: Sequence[str] = (),
) -> Path:
    """Write `<experiment>.csv`, the rows of all runs, and `<experiment>.json`, how they came about.

    Facts that all runs share stand once, the others and the seconds of each under `runs`, in the order of the
    outcomes; `rules` are those that were the same for all. A column that some rows lack is empty there.
    `accepted`, if anything, is what speaks against these rows.

    Raises:
        ValueError: no rows.
        OutputError: the folder cannot be written; what was there is as it was.
    """
    rows = [row for outcome in outcomes for row in outcome.rows]
    if not rows:
        raise ValueError(f"No run of {experiment.name} has any rows; run some first.")
    said = {"accepted": list(accepted)} if accepted else {}
    make_folder(folder)
    path = folder / f"{experiment.name}.csv"
    try:
        write_pair(path, as_csv(rows), _facts(outcomes, scale) | said)
    except OSError as error:
        raise output_error(path, error) from error
    return path


def _facts(outcomes: Sequence[Outcome], scale: str) -> dict[str, Any]:
    runs = [{**o.facts, "failed": o.failed} for o in outcomes]
    rules = dict(sorted(set.intersection(*(set(r.pop("rules", {}).items()) for r in runs))))
    shared = {k: v for k, v in runs[0].items() if all(k in r and r[k] == v for r in runs)}
    common = {k: v for k, v in shared.items() if k != "seconds"}  # each run keeps its own, even if all agree
    own = [{k: v for k, v in r.items() if k not in common} for r in runs]
    return common | {
        "rules": rules,
        "scale": scale,
        "runs": own,
        "seconds": round(sum(r["seconds"] for r in runs), 1),
    }
