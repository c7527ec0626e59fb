"""The appendix's measurements on models computed by hand."""

import pytest
import torch

from lnbook.pages.appendix_magnitude import measure as magnitudes
from lnlib.glm import GLM


def test_the_two_other_ways_give_the_hand_computed_length() -> None:
    W, X = torch.tensor([[3.0, 4.0]], dtype=torch.float64), torch.tensor([[1.0, 0.5]], dtype=torch.float64)
    glm = GLM("gaussian", W, torch.zeros(1).double())
    for squared in magnitudes.two_other_ways(glm, X, torch.tensor([3.0]).double()):
        assert squared == pytest.approx(4.5, rel=1e-12)  # a-hat is 1: half of 3 squared
