"""Keeping an experiment's rows in `book/results/`, and what speaks against it."""

from collections.abc import Collection, Sequence
from pathlib import Path

from lnbook.cli.options import UsageError
from lnbook.ledger.rows import read_rows
from lnbook.training.gather import gather
from lnbook.training.report import stand_ins
from lnbook.training.runs import Outcome
from lnbook.training.task import Experiment

__all__ = ["objections", "record"]


def record(
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    runs: int,
    scale: str,
    folder: Path,
    accepted: Collection[str],
) -> Path:
    """Write the rows and how they came about to `<folder>/<scale>`; returns the path of the rows.

    Args:
        experiment, outcomes, scale: as for `gather`.
        runs: how many the scale has.
        folder: of all recorded results.
        accepted: which of the `objections` do not count; those that were met stand in the provenance.

    Raises UsageError, and leaves what is there as it is, for an objection that is not accepted.
    """
    found = objections(experiment, outcomes, runs, scale, folder)
    if refused := {what: why for what, why in found.items() if what not in accepted}:
        ways = " ".join(f"--accept {what}" for what in refused)
        raise UsageError(
            f"Nothing is recorded: {'; '.join(refused.values())}. Mend that and give --gather --record; to "
            f"record it all the same, which the provenance then says, add {ways}."
        )
    return gather(experiment, outcomes, scale, folder / scale, accepted=sorted(found))


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
        found["fewer"] = f"the record has {before} rows, and these are {rows}"
    return found
