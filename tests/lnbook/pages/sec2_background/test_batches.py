"""Section 2: mini-batch statistics against sampling theory."""

import numpy as np
import pytest
import torch

import lnlib
from lnbook.pages.sec2_background import batches
from lnbook.shared.shift import Network


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_errors_of_the_mean_follow_sampling_theory(generator) -> None:
    A = torch.randn(300, 20, generator=generator, dtype=torch.float64)
    sizes = [1, 2, 8, 64, 256]
    found, B = batches.mean_errors(A, sizes, draws=300, generator=generator), np.array(sizes)
    np.testing.assert_allclose(np.sqrt(found.mean(0)), np.sqrt((300 - B) / 299 / B), rtol=0.1)


def test_a_batch_of_all_training_cases_does_not_disagree_and_a_batch_of_one_says_one_thing(generator) -> None:
    x = torch.rand(64, 12, generator=generator)
    network = Network((12, 8, 8, 10), 0, lambda k, a: lnlib.batch_norm(a))
    one, whole = (batches.disagreement(network, x, x, size) for size in (1, 64))
    assert whole == 0
    assert one > 0


def test_step_errors_find_a_transient_and_the_dwindling_of_the_sequences(generator) -> None:
    lengths = torch.arange(200) % 40 + 1
    a = torch.randn(40, 200, 6, generator=generator)
    a[0] /= 4
    found, _ = batches.step_errors(a, lengths, 32, 50, generator)
    assert found["running %"][1] == 100
    assert (found["running %"] >= 50).sum() == 21
    assert found["shared %"][1] > 100
    assert found["shared %"][2:].max() < 40
    assert found["separate %"][30] > 1.5 * found["separate %"][1]
    assert found["batches without %"][1] == 0
    assert found["batches without %"].iloc[-1] > 0
