r"""A reader that is shown a question and no passage: numbers dealt at random leave it a guess.

*Source* Section 6.2, first paragraph: entities get random tokens, dealt anew in training and evaluation, so
that nothing can be answered without the passage. Ours: the reader that tries. An entity that the question
does not name gets any of the markers that it does not name, each as likely, whatever the reader learned; so
if the answer is not named, no reader of the question alone is right more often than (`chance`)

$$\frac1N\sum_n\frac1{M-k_n}, \qquad M \text{ markers, of which question } n \text{ names } k_n.$$
"""

from dataclasses import replace

import torch

from lnbook.data.readings import FIRST_MARKER, Readings
from lnbook.data.text import UNKNOWN
from lnbook.pages.sec6_2_attentive_reader.experiment import Reading
from lnbook.training import Cases, Job, Machine, noise_of, torch_threads, train


def without_passages(readings: Readings) -> Readings:
    """The same questions, and in place of each passage a single unknown word.

    >>> from lnbook.data.readings import load_readings
    >>> without_passages(load_readings("stories", limit=3)).train[0].tolist()
    [[1], [1], [1]]
    """

    def alone(cases: Cases) -> Cases:
        _, lengths, *rest = cases
        return (torch.full((len(lengths), 1), UNKNOWN), torch.ones_like(lengths), *rest)

    return replace(readings, train=alone(readings.train), valid=alone(readings.valid))


def chance(readings: Readings) -> float:
    """How often the best guess is right in validation: one of the markers that the question does not name."""
    right = []
    for query in readings.valid[2]:
        named = query[(query >= FIRST_MARKER) & (query < FIRST_MARKER + readings.markers)]
        right.append(1 / (readings.markers - len(named.unique())))
    return sum(right) / len(right)


def accuracy(readings: Readings, job: Job, deals: int) -> float:
    """How often a reader without passages is right in validation, after the training of a job.

    The markers of all questions are dealt anew `deals` times to ask again.
    """
    task = Reading(without_passages(readings), Machine(), job)
    with torch_threads(1):
        train(task)
    task.model.eval()
    with torch.no_grad():
        found = [
            float(task.measure(task.model, task.parts["valid"], noise_of(job["seed"], -deal))["error"])
            for deal in range(1, deals + 1)
        ]
    return 1 - sum(found) / deals / len(readings.valid[4])
