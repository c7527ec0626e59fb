"""The appendix's measurements on cases whose answers are known."""

import pytest
import torch

from lnbook.pages.appendix_magnitude import measure as magnitudes
from lnlib.glm import GLM

EXACT = 1e-12  # relative: sums of some hundred products of numbers near 1


def test_the_metric_of_hand_computed_models() -> None:
    W = torch.tensor([[3.0, 4.0], [0.0, 2.0]], dtype=torch.float64)
    X = torch.tensor([[1.0, 0.5], [-1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    plain, batch = (GLM("gaussian", W, torch.zeros(2).double(), norm=norm) for norm in (None, "batch"))
    # a-hat: rows (1, 1/2), (1, 2), (4/5, 1); half the mean of the summed squares
    assert magnitudes.metric(plain, X) == pytest.approx((1 + 0.25 + 1 + 4 + 0.64 + 1) / 6, rel=EXACT)
    assert magnitudes.metric(batch, X) == pytest.approx(1.0, rel=EXACT)  # two units, E[a-hat^2] = 1


def test_the_normal_cases_have_normal_moments() -> None:
    x, weights = magnitudes.normal_cases()
    for power, moment in ((0, 1), (1, 0), (2, 1), (4, 3), (6, 15)):
        assert float(weights @ x[:, 0] ** power) == pytest.approx(moment, rel=EXACT, abs=1e-13)


def test_the_two_other_ways_give_the_hand_computed_length() -> None:
    W, X = torch.tensor([[3.0, 4.0]], dtype=torch.float64), torch.tensor([[1.0, 0.5]], dtype=torch.float64)
    glm = GLM("gaussian", W, torch.zeros(1).double())
    for squared in magnitudes.two_other_ways(glm, X, torch.tensor([3.0]).double()):
        assert squared == pytest.approx(4.5, rel=EXACT)  # a-hat is 1: half of 3 squared
