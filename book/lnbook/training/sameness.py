"""Whether a run is the one that began, and what is said if not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lnbook.training.task import Job

__all__ = ["CODE", "DATA", "difference", "differences", "settled"]

CODE, DATA = "code:", "data:"  # begin the keys of a run that are no settings
SHOWN = 3  # differences


def differences(found: Job, job: Job, *, changed_code: bool = False, data_only: bool = False) -> list[str]:
    """The keys by which two runs differ: without code if that may have changed, or of their data only.

    >>> differences({"seed": 0, "code:loop.py": "1f"}, {"seed": 1, "code:loop.py": "2e"}, changed_code=True)
    ['seed']
    """
    keys = {key for key in {*found, *job} if found.get(key) != job.get(key)}
    if changed_code:
        keys = {key for key in keys if not key.startswith(CODE)}
    return sorted(key for key in keys if key.startswith(DATA) or not data_only)


def difference(place: Path, found: Job, job: Job, keys: Sequence[str]) -> str:
    """That a folder or file holds another run: the keys by which, both values, and the way out."""
    shown = keys[:SHOWN]
    there, here = (", ".join(f"{key} = {run.get(key)!r}" for key in shown) for run in (found, job))
    more = f", and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    ways = "give another --out"
    if any(key.startswith(DATA) for key in keys):
        ways = f"put back the data that it began with, begin anew with --restart, or {ways}"
    elif all(key.startswith(CODE) for key in keys):
        ways = (
            "go back to the code that began it (its sessions.json names the commit), begin anew with "
            f"--restart, {ways}, or go on with --accept changed-code, which the provenance then says"
        )
    return f"{place} holds another run: {there} there, {here} here{more}; {ways}."


def settled(job: Job) -> dict[str, Any]:
    """What no option changes."""
    return {key: value for key, value in job.items() if not key.startswith(CODE)}
