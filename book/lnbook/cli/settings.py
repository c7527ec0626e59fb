"""The experiments' settings: what the paper says, what runs, what is recorded, and every deviation."""

import json
from pathlib import Path

from lnbook.ledger.rows import book_dir
from lnbook.training.task import Experiment

__all__ = ["recorded", "settings_of"]

LABELS = {
    "paper": "The paper says",
    "sources": "What it builds on says",
    "ours": "Nobody says; ours",
    "differs": "Deviations at scale paper",
    "study": "Scale study is smaller",
}


def settings_of(experiment: Experiment, book: Path | None = None) -> dict[str, str]:
    """An experiment's settings by where they come from, and what is recorded of it.

    Args:
        experiment: which.
        book: holds `results/`; default: the checkout's.
    """
    if experiment.settings is None:
        raise ValueError(f"{experiment.name} does not say where its settings come from; give it Settings.")
    words = {label: getattr(experiment.settings, key) for key, label in LABELS.items()}
    return words | {"Recorded": recorded(experiment, book)}


def recorded(experiment: Experiment, book: Path | None = None) -> str:
    """How many runs of which scale `results/` holds, over how many seeds, and the hours that they took."""
    place = book or book_dir()
    told = []
    for scale in ("paper", "study"):
        path = (place or Path()) / "results" / scale / f"{experiment.name}.json"
        if place is None or not path.is_file():
            continue
        facts = json.loads(path.read_text(encoding="utf-8"))
        seeds = {run["job"]["seed"] for run in facts["runs"]}
        told.append(
            f"{scale}: {len(facts['runs'])} runs, {len(seeds)} seeds, {facts['seconds'] / 3600:.1f} h"
        )
    return "; ".join(told) or "nothing"
