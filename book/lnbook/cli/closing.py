"""What a command says and keeps when its runs have ended."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lnbook.training.gather import collect, gather
from lnbook.training.report import stand_ins, summary
from lnbook.training.runs import Outcome, label
from lnbook.training.task import Experiment, Job

__all__ = ["failures", "gathered", "say"]


def say(message: object, status: int = 0) -> int:
    """Print a line on stderr, under `torchrun` with the number of the process; returns the status."""
    who = f"[process {os.environ['RANK']}] " if "WORLD_SIZE" in os.environ else ""
    print(f"{who}{message}", file=sys.stderr)
    return status


def gathered(
    experiment: Experiment,
    jobs: Sequence[Job],
    scale: str,
    folder: Path,
    results: Path,
    *,
    partial: bool = False,
) -> tuple[list[Outcome], int]:
    """Gather the finished runs, earlier ones included, and say what is missing.

    Args:
        experiment, jobs, scale: which runs.
        folder, results: where the runs keep checkpoints, and where their rows go.
        partial: gather the rows of unfinished runs, too.

    Returns:
        The runs' outcomes, and the exit status: 1 if some cannot be read.
    """
    outcomes, unreadable = collect(folder, jobs, partial=partial)
    for message in unreadable:
        say(message)
    if not outcomes:
        print(f"None of {len(jobs)} runs has finished.")
        return [], int(bool(unreadable))
    path = gather(experiment, outcomes, scale, results)
    if table := summary([row for o in outcomes if not o.failed for row in o.rows], list(jobs[0])):
        print(f"The selected models: means over seeds ± half their 95 % intervals\n\n{table}\n")
    for line in stand_ins(o.facts for o in outcomes):
        say(line)
    for o in outcomes:
        if "unfinished" in o.facts:
            print(f"{label(o.job)}: {o.facts['unfinished']}")
    whole = [o for o in outcomes if not o.failed and "unfinished" not in o.facts]
    print(f"{len(whole)} of {len(jobs)} runs are done; the rows of {len(outcomes)} are in {path}")
    return outcomes, int(bool(unreadable))


def failures(made: Sequence[Outcome]) -> int:
    """Say which runs failed, and why; returns the exit status, 1 if any did."""
    failed = [outcome for outcome in made if outcome.failed]
    for outcome in failed:
        say(f"{label(outcome.job)}: {outcome.failed}")
    return int(bool(failed))
