"""Experiment 6.1: its loss, its validation, its points."""

from itertools import product

import pytest
import torch

from lnbook.data.captions import load_captions
from lnbook.pages.sec6_1_order_embeddings.experiment import EXPERIMENT, Embedding
from lnbook.pages.sec6_1_order_embeddings.model import MARGINS
from lnbook.training import Machine, noise_of

SMALL = {"units": 8, "word_size": 6, "vocabulary": 50, "batch_size": 16, "updates": 4, "every": 2}


def task(dtype: torch.dtype = torch.float32, **changes: object) -> Embedding:
    job = EXPERIMENT.jobs("smoke", 0)[1] | SMALL | changes
    return Embedding(load_captions("scenes"), Machine(dtype=dtype), job)


def test_the_loss_is_a_literal_sum_over_the_batch() -> None:
    assert MARGINS == {"order": 0.05, "cosine": 0.2}
    made = task(torch.float64)
    words, lengths, owner = next(made.batches)
    found = made.loss(made.model, (words, lengths, owner), noise_of(0, 0))
    captions = made.points(words, lengths)
    images = made.images("train")[owner]
    expected = 0.0
    for n, m in product(range(len(owner)), repeat=2):
        if owner[n] != owner[m]:
            right = (captions[n] - images[n]).clamp_min(0).square().sum()
            for wrong in ((captions[m] - images[n]), (captions[n] - images[m])):
                expected += (0.05 + right - wrong.clamp_min(0).square().sum()).clamp_min(0).item()
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_points_of_many_captions_come_in_their_order() -> None:
    made = task()
    words, lengths = made.encoded(["a red ball", "something", "a small red ball and a large blue box"])
    with torch.no_grad():
        together = made.points(words, lengths, chunk=2)
        alone = torch.cat([made.points(words[k : k + 1], lengths[k : k + 1]) for k in range(3)])
    torch.testing.assert_close(together, alone)
