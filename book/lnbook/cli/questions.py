"""What the record leaves open, the biggest question first: the order in which `run --plan` takes the runs.

This is data, not code: put a line where its question belongs. The paper's own sizes come before studies,
because the ledger decides a sentence about training by them alone. Among them, what the paper shows in a
figure and nobody has recorded yet comes first. Runs that no line names come last, in the order of sections.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lnbook.training.task import Job

__all__ = ["QUESTIONS", "Question", "place"]


@dataclass(frozen=True)
class Question:
    """Some runs of an experiment.

    Args:
        section: the paper's.
        scale: "paper" or "study".
        asks: what these runs would decide.
        settings: those that these runs have; none for all runs of the scale.
    """

    section: str
    scale: str
    asks: str
    settings: Mapping[str, Any] = field(default_factory=dict)


QUESTIONS = (
    Question("6.4", "paper", "is DRAW's bound lower with layer norm, also after 200 passes?"),
    Question("6.6", "paper", "60 passes with batches of 128: Figure 6, left"),
    Question("6.1", "paper", "retrieval of captions and images on the paper's features"),
    Question("6.2", "paper", "the attentive reader on CNN's questions"),
    Question("6.5", "paper", "handwriting on IAM-OnDB"),
    Question("6.3", "paper", "skip-thoughts after a million updates"),
    Question("6.7", "study", "layer norm in convolutional networks, each norm at its own step size"),
    Question("6.6", "study", "batches of 4", {"batch_size": 4}),
    Question("6.6", "study", "batches of 1", {"batch_size": 1}),
)


def place(section: str, scale: str, job: Job) -> int:
    """The place of a run's question, from 0; after all of them for a run that no question names.

    >>> place("6.4", "paper", {"norm": "layer"}), place("6.4", "study", {"norm": "layer"}) == len(QUESTIONS)
    (0, True)
    """
    for number, question in enumerate(QUESTIONS):
        told = all(job.get(key) == value for key, value in question.settings.items())
        if (question.section, question.scale) == (section, scale) and told:
            return number
    return len(QUESTIONS)
