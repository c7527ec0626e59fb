"""The experiments' settings: what the paper says, what runs, what is recorded, and every deviation."""

from pathlib import Path

from lnbook.ledger.recorded import changed_checkout
from lnbook.ledger.rows import read_facts
from lnbook.training.task import Experiment

LABELS = {
    "paper": "The paper says",
    "sources": "What it builds on says",
    "ours": "Nobody says; ours",
    "differs": "Deviations at scale paper",
    "study": "Scale study is smaller",
}


def settings_of(experiment: Experiment, book: Path) -> dict[str, str]:
    """An experiment's settings by where they come from, and what is recorded of it in `book/results`."""
    words = {label: getattr(experiment.settings, key) for key, label in LABELS.items()}
    return words | {"Recorded": recorded(experiment, book)}


def differences(words: str) -> list[tuple[str, str, str]]:
    """What differs, what the paper or its sources have, and what scale "paper" has; [] for plain words.

    >>> differences("Clipping | At 10. | At 1.")
    [('Clipping', 'At 10.', 'At 1.')]
    """
    lines = [line.split(" | ") for line in words.splitlines() if " | " in line]
    return [(what, theirs, ours) for what, theirs, ours in lines]


def recorded(experiment: Experiment, book: Path) -> str:
    """How many runs of which scale `results/` holds, of how many seeds, in how many hours; what is amiss."""
    told = []
    for scale in ("paper", "study"):
        if (book / "results" / scale / f"{experiment.name}.csv").is_file():
            facts = read_facts(experiment.name, scale=scale, folder=book / "results")
            seeds = {run["job"]["seed"] for run in facts["runs"]}
            words = f"{scale}: {len(facts['runs'])} runs, {len(seeds)} seeds, {facts['seconds'] / 3600:.1f} h"
            told.append(", ".join(filter(None, (words, changed_checkout(facts)))))
    return "; ".join(told) or "nothing"
