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


def test_errors_of_the_mean_and_the_biased_variance_follow_sampling_theory(generator) -> None:
    A = torch.randn(300, 20, generator=generator, dtype=torch.float64)
    found = batches.sampling_errors(A, [1, 2, 8, 64, 256], draws=300, generator=generator)
    np.testing.assert_allclose(np.sqrt(found.mean.mean(0)), found.theory, rtol=0.1)
    B = np.array(found.sizes)
    np.testing.assert_allclose(found.variance.mean(0), (B - 1) / B * 300 / 299, rtol=0.05)
    assert np.mean(found.powers()) == pytest.approx(-0.5, abs=0.03)


def test_a_batch_of_all_training_cases_does_not_disagree_and_a_batch_of_one_says_one_thing(generator) -> None:
    x = torch.rand(64, 12, generator=generator)
    network = Network((12, 8, 8, 10), 0, lambda k, a: lnlib.batch_norm(a))
    own = network.normalize
    one, whole = batches.disagreement(network, x, x, [1, 64])
    assert whole == 0
    assert one > 0
    assert network.normalize is own


def test_step_errors_find_a_transient_and_the_dwindling_of_the_sequences(generator) -> None:
    lengths = torch.arange(200) % 40 + 1
    a = torch.randn(40, 200, 6, generator=generator)
    a[0] /= 4
    found = batches.step_errors(a, lengths, batch=32, draws=50, generator=generator, least=10)
    assert found.running[0] == 100
    assert found.reached_by(50) == 21
    assert found.shared[0] > 100
    assert found.shared[1:].max() < 40
    assert np.mean(found.growth(30)) > 1.5
    assert found.missing[0] == 0
    assert found.missing[-1] > 0
