"""The measures of classifiers against tiny cases by hand and scikit-learn; and batch norm of one case."""

import math
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


# ---------------------------------------------------------------------------------- by hand


def test_two_cases_done_by_hand() -> None:
    p = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]], dtype=torch.float64)
    found = means(p.log(), torch.tensor([0, 1]))  # right at 0.7, wrong at 0.5
    # sums of a few numbers near 1: the last bits of a float64
    assert found["nll"] == pytest.approx(-(math.log(0.7) + math.log(0.3)) / 2, rel=1e-14)
    assert found["error"] == 0.5
    assert found["confidence"] == pytest.approx(0.6, rel=1e-14)
    squares = (0.3**2 + 0.2**2 + 0.1**2) + (0.5**2 + 0.7**2 + 0.2**2)
    assert found["brier"] == pytest.approx(squares / 2, rel=1e-14)
    # two bins of one case each: |0.7 - 1| / 2 + |0.5 - 0| / 2
    assert found["calibration_error"] == pytest.approx(0.4, rel=1e-14)


def test_within_a_bin_gaps_cancel_and_between_bins_they_do_not() -> None:
    low, high = 0.61, 0.65  # of 15 bins both are in the tenth, from 0.6 to 0.667
    p = torch.tensor([[low, 1 - low], [high, 1 - high]], dtype=torch.float64)
    together = means(p.log(), torch.tensor([0, 1]))
    assert together["calibration_error"] == pytest.approx((low + high - 1) / 2, rel=1e-13)
    p = torch.tensor([[0.61, 0.39], [0.71, 0.29]], dtype=torch.float64)
    apart = means(p.log(), torch.tensor([0, 1]))
    assert apart["calibration_error"] == pytest.approx((0.39 + 0.71) / 2, rel=1e-13)


def test_one_who_is_right_as_often_as_it_says_has_no_calibration_error() -> None:
    p = torch.tensor([[0.75, 0.25]] * 4, dtype=torch.float64)
    found = means(p.log(), torch.tensor([0, 0, 0, 1]))
    assert found["calibration_error"] == pytest.approx(0, abs=1e-14)
    assert found["error"] == 0.25


def test_extreme_logits_are_sure_and_finite() -> None:
    logits = torch.tensor([[1e4, 0.0], [0.0, 1e4]])
    found = means(logits, torch.tensor([0, 0]))
    assert found["confidence"] == 1.0
    assert found["nll"] == pytest.approx(5e3)
    assert found["brier"] == pytest.approx(1.0)
    assert found["calibration_error"] == 0.5  # the bin of 1 is the last: no sixteenth


# ---------------------------------------------------------------------------------- against scikit-learn


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


def test_sums_over_chunks_make_the_measures_of_all() -> None:
    logits, y = some(0)
    parts = [measures(a, b) for a, b in zip(logits.split(64), y.split(64), strict=True)]
    gathered = {name: torch.stack([part[name] for part in parts]).sum(0) for name in parts[0]}
    for name, value in measures(logits, y).items():
        torch.testing.assert_close(gathered[name], value, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------------------------- layers


def test_initial_weights_have_hes_variance_and_come_from_the_generator_alone() -> None:
    before = torch.get_rng_state()
    layers = [nn.utils.skip_init(Linear, 300, 200, bias=True) for _ in range(2)]
    for layer in layers:
        initialize(layer, torch.Generator().manual_seed(3))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(layers[0].weight, layers[1].weight)
    # 60,000 draws know their variance to 0.6 % (standard error)
    assert float(layers[0].weight.detach().var()) == pytest.approx(2 / 300, rel=0.03)
    assert not layers[0].bias.any()


def test_evaluation_uses_running_averages_and_leaves_them_alone() -> None:
    layer = BatchNorm(6, unbiased=True).double()
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for _ in range(200):
        layer(x)
    trained = layer(x)
    layer.eval()
    state = {name: value.clone() for name, value in layer.state_dict().items()}
    # what 200 steps leave of the first averages is 0.9^200, below 1e-9
    torch.testing.assert_close(layer(x), trained, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(layer(x[:1])[0], trained[0], rtol=1e-6, atol=1e-6)
    assert all(torch.equal(state[name], value) for name, value in layer.state_dict().items())


def test_single_cases_take_the_running_variance_to_zero_and_the_mean_along() -> None:
    layer = BatchNorm(6).double()
    for step in range(1, 4):
        layer(torch.full((1, 6), 2.0, dtype=torch.float64))
        assert layer.running_mean is not None
        assert layer.running_var is not None
        expected = torch.full_like(layer.running_mean, 2 * (1 - 0.9**step))
        torch.testing.assert_close(layer.running_mean, expected)
        torch.testing.assert_close(layer.running_var, torch.full_like(layer.running_var, 0.9**step))
