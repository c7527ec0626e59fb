"""The measures of classifiers against scikit-learn and a literal sum; and batch norm of one case."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss
from torch import nn

from lnbook.shared.classifiers import BINS, BatchNorm, calibration_error, initialize, measures
from lnlib.linear import Linear


def means(logits: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
    found = {name: value / len(y) for name, value in measures(logits, y).items()}
    return {name: float(value) for name, value in calibration_error(found).items()}


def some(seed: int, number: int = 200, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(number, classes, generator=draw, dtype=torch.float64)
    return logits, torch.randint(classes, (number,), generator=draw)


def test_extreme_logits_are_sure_and_finite() -> None:
    logits = torch.tensor([[1e4, 0.0], [0.0, 1e4]])
    found = means(logits, torch.tensor([0, 0]))
    assert found["confidence"] == 1.0
    assert found["nll"] == pytest.approx(5e3)
    assert found["brier"] == pytest.approx(1.0)
    assert found["calibration_error"] == 0.5  # the bin of 1 is the last: no sixteenth


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 12))
def test_nll_and_brier_score_are_scikit_learns(seed: int, classes: int) -> None:
    logits, y = some(seed, classes=classes)
    found, p, labels = means(logits, y), logits.softmax(1).numpy(), list(range(classes))
    assert found["nll"] == pytest.approx(log_loss(y.numpy(), p, labels=labels), rel=1e-10)
    theirs = brier_score_loss(y.numpy(), p, labels=labels, scale_by_half=False)
    assert found["brier"] == pytest.approx(theirs, rel=1e-10)
    assert found["error"] == pytest.approx(float((p.argmax(1) != y.numpy()).mean()))


@given(seed=st.integers(0, 10**6))
def test_the_calibration_error_is_the_literal_sum_over_bins(seed: int) -> None:
    logits, y = some(seed)
    p = logits.softmax(1).numpy()
    confidence, correct = p.max(1), p.argmax(1) == y.numpy()
    expected, edges = 0.0, np.linspace(0, 1, BINS + 1)
    for low, high in pairwise(edges):
        inside = (confidence >= low) & (confidence < high)
        if inside.any():
            gap = abs(confidence[inside].mean() - correct[inside].mean())
            expected += inside.mean() * gap
    assert means(logits, y)["calibration_error"] == pytest.approx(expected, abs=1e-12)


def test_initial_weights_have_hes_variance_and_come_from_the_generator_alone() -> None:
    before = torch.get_rng_state()
    layer = nn.utils.skip_init(Linear, 300, 200, bias=True)
    initialize(layer, torch.Generator().manual_seed(3))
    assert torch.equal(before, torch.get_rng_state())
    # 60,000 draws know their variance to 0.6 % (standard error)
    assert float(layer.weight.detach().var()) == pytest.approx(2 / 300, rel=0.03)
    assert not layer.bias.any()


def test_single_cases_take_the_running_variance_to_zero_and_the_mean_along() -> None:
    layer = BatchNorm(6).double()
    for step in range(1, 4):
        layer(torch.full((1, 6), 2.0, dtype=torch.float64))
        assert layer.running_mean is not None
        assert layer.running_var is not None
        expected = torch.full_like(layer.running_mean, 2 * (1 - 0.9**step))
        torch.testing.assert_close(layer.running_mean, expected)
        torch.testing.assert_close(layer.running_var, torch.full_like(layer.running_var, 0.9**step))
