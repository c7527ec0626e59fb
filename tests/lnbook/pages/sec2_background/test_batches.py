"""Section 2: mini-batch statistics against sampling theory, and a drift that is put back into batch norm."""

import numpy as np
import pytest
import torch

import lnlib
from lnbook.pages.sec2_background import batches
from lnbook.pages.sec2_background.learning import drifting
from lnbook.shared.shift import Network, train


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


@pytest.mark.parametrize("held", [False, True])
def test_a_drift_is_put_back_update_by_update_or_at_its_end(generator, held) -> None:
    x = torch.rand(600, 12, generator=generator)
    cases = x, (x[:, 0] * 10).long().clamp(max=9)
    plain = train(cases, 3, rate=0.3, updates=6, units=8)
    other = train(cases, 3, drifting(plain, held=held), rate=0.0, updates=6, units=8)
    first = plain.received[:1]
    moved = (plain.received - [[[[1.0], [0.0]]]] * first) / first[:, :, 1:]  # from mean 0 and deviation 1
    expected = np.broadcast_to(moved[-1:], moved.shape) if held else moved
    # float32; batch norm's epsilon and the deviation's n - 1 change it by less than 1 %
    np.testing.assert_allclose(other.received, expected, rtol=0.02, atol=1e-3)
