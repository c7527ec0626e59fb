"""Random recurrences: their derivative."""

import pytest
import torch

from lnbook.pages.sec3_1_recurrent.random_networks import Networks, weights


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_push_is_the_step_and_its_derivative(norm: str) -> None:
    generator = torch.Generator().manual_seed(0)
    net = Networks(weights(3, 8, generator), gain=(0.5, 2.0), strength=(0.0, 1.0), norm=norm)
    h, v, noise = net.states(generator), net.states(generator), net.noise(generator)
    new, pushed = net.push(h, v, noise)
    truth, derivative = torch.autograd.functional.jvp(lambda h: net.step(h, noise), h, v)
    torch.testing.assert_close(new, truth, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(pushed, derivative, rtol=1e-11, atol=1e-12)
