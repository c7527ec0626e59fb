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
from lnbook.training import Job, Machine, noise_of, torch_threads, train


def chance(readings: Readings) -> float:
    """How often the best guess is right in validation: one of the markers that the question does not name."""
    right = []
    for query in readings.valid[2]:
        named = query[(query >= FIRST_MARKER) & (query < FIRST_MARKER + readings.markers)]
        right.append(1 / (readings.markers - len(named.unique())))
    return sum(right) / len(right)


def accuracy(readings: Readings, job: Job, deals: int) -> float:
    """How often a reader without passages is right in validation, after the training of a job.

    A single unknown word is in place of each passage. The markers of all questions are dealt anew `deals`
    times to ask again.
    """
    learned, asked = (
        (torch.full((len(lengths), 1), UNKNOWN), torch.ones_like(lengths), *rest)
        for _, lengths, *rest in (readings.train, readings.valid)
    )
    task = Reading(replace(readings, train=learned, valid=asked), Machine(), job)
    with torch_threads(1):
        train(task)
    task.model.eval()
    with torch.no_grad():
        found = [
            float(task.measure(task.model, task.parts["valid"], noise_of(job["seed"], -deal))["error"])
            for deal in range(1, deals + 1)
        ]
    return 1 - sum(found) / deals / len(readings.valid[4])
