"""Keeping an experiment's rows in `book/results/`, and the objections to that."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from lnbook.cli.options import UsageError
from lnbook.ledger.rows import read_facts, read_rows
from lnbook.training.gather import gather
from lnbook.training.report import stand_ins
from lnbook.training.runs import Outcome, label
from lnbook.training.task import Experiment

__all__ = ["objections", "record", "recorded_runs"]

OF_ALL = ("accepted", "runs", "scale", "seconds")  # facts that `gather` states for all runs together


def record(
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    runs: int,
    scale: str,
    folder: Path,
    accepted: Collection[str],
) -> Path:
    """Write the rows and their provenance to `<folder>/<scale>`; returns the path of the rows.

    Args:
        experiment, outcomes, scale: as for `gather`.
        runs: how many runs the scale has.
        folder: where all results are recorded.
        accepted: which of the `objections` do not count; those that apply are named in the provenance.

    Raises UsageError for an objection that is not accepted, and leaves the record as it is.
    """
    found = objections(experiment, outcomes, runs, scale, folder)
    if refused := {what: why for what, why in found.items() if what not in accepted}:
        ways = " ".join(f"--accept {what}" for what in refused)
        raise UsageError(
            f"Nothing is recorded: {'; '.join(refused.values())}. Fix that and give --gather --record; to "
            f"record it anyway, with a note in the provenance, add {ways}."
        )
    # A run that is made again keeps the rules under which its seed was first seen.
    first = {label(o.job): {"rules": o.facts["rules"]} for o in recorded_runs(experiment.name, scale, folder)}
    kept = [replace(o, facts={**o.facts, **first.get(label(o.job), {})}) for o in outcomes]
    return gather(experiment, kept, scale, folder / scale, accepted=sorted(found))


def objections(
    experiment: Experiment, outcomes: Sequence[Outcome], runs: int, scale: str, folder: Path
) -> dict[str, str]:
    """Why these outcomes should not become the record of a scale, by the word that `--accept` takes."""
    found = {}
    whole = sum("unfinished" not in outcome.facts for outcome in outcomes)
    if whole < runs:
        found["partial"] = f"{whole} of {runs} runs have finished"
    if missed := stand_ins(outcome.facts for outcome in outcomes):
        found["stand-in"] = " ".join(missed).rstrip(".")
    commits = {commit for o in outcomes for commit in o.facts.get("commits", [o.facts.get("commit", "")])}
    if dirty := sorted(commit for commit in commits if commit.endswith("+")):
        found["dirty"] = f"runs were made by code that differs from its commit ({', '.join(dirty)})"
    rows = sum(len(outcome.rows) for outcome in outcomes)
    try:
        before = len(read_rows(experiment.name, scale=scale, folder=folder))
    except FileNotFoundError:
        before = 0
    if rows < before:
        found["fewer"] = f"the record has {before} rows, and these runs only {rows}"
    return found


def recorded_runs(name: str, scale: str, folder: Path) -> list[Outcome]:
    """An experiment's recorded runs, such that `gather` writes them again unchanged.

    Numbers in their rows are text. Raises ValueError if rows in the record were changed.
    """
    try:
        rows = read_rows(name, scale=scale, folder=folder)
        facts = read_facts(name, scale=scale, folder=folder)
    except FileNotFoundError:
        return []
    common = {key: value for key, value in facts.items() if key not in OF_ALL}
    found = []
    runs = [common | own for own in facts["runs"]]
    settings = {name for told in runs for name in told["job"]}  # one that a run lacks is empty in its rows
    for told in runs:
        failed, job = told.pop("failed"), told["job"]
        asked = {name: str(job.get(name, "")) for name in settings}
        mine = [row for row in rows if all(row[name] == value for name, value in asked.items())]
        found.append(Outcome(job, [{k: v or None for k, v in row.items()} for row in mine], told, failed))
    return found
