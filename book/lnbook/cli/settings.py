"""The experiments' settings: what the paper says, what runs, what is recorded, and every deviation."""

from pathlib import Path

from lnbook.ledger.recorded import changed_checkout
from lnbook.ledger.rows import book_dir, read_facts
from lnbook.training.task import Experiment

__all__ = ["differences", "printed", "recorded", "settings_of"]

LABELS = {
    "paper": "The paper says",
    "sources": "What it builds on says",
    "ours": "Nobody says; ours",
    "differs": "Deviations at scale paper",
    "study": "Scale study is smaller",
}


def settings_of(experiment: Experiment, book: Path | None = None) -> dict[str, str]:
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


def printed(experiment: Experiment, book: Path | None = None) -> str:
    """The settings as lines, each difference on its own."""
    lines = []
    for label, words in settings_of(experiment, book).items():
        rows = differences(words)
        lines.append(f"{label}:" if rows else f"{label}: {words}")
        lines += [f"  {what}: {theirs} Here: {ours}" for what, theirs, ours in rows]
    return "\n".join(lines)


def recorded(experiment: Experiment, book: Path | None = None) -> str:
    """How many runs of which scale `results/` holds, of how many seeds, in how many hours; what is amiss."""
    place = book or book_dir()
    told = []
    for scale in ("paper", "study"):
        if place is None or not (place / "results" / scale / f"{experiment.name}.csv").is_file():
            continue
        facts = read_facts(experiment.name, scale=scale, folder=place / "results")
        seeds = {run["job"]["seed"] for run in facts["runs"]}
        words = f"{scale}: {len(facts['runs'])} runs, {len(seeds)} seeds, {facts['seconds'] / 3600:.1f} h"
        told.append(", ".join(filter(None, (words, changed_checkout(facts)))))
    return "; ".join(told) or "nothing"
