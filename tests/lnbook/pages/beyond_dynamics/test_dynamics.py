"""Random recurrences: their derivative, their exponents, and lnlib.rnn as a second opinion."""

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_dynamics import measure as dynamics
from lnbook.pages.beyond_dynamics.measure import Networks
from lnlib.rnn import RNN
from lnlib.rnn.diagnostics import lyapunov


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def networks(H: int = 8, count: int = 3, **options) -> Networks:
    settings = {"gain": (0.5, 2.0), "strength": (0.0, 1.0)} | options
    return Networks(dynamics.weights(count, H, generator()), **settings)


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_push_is_the_step_and_its_derivative(norm: str) -> None:
    net = networks(norm=norm)
    h, v = net.states(generator(1)), net.states(generator(2))
    noise = net.noise(generator(3))
    new, pushed = net.push(h, v, noise)
    truth, derivative = torch.autograd.functional.jvp(lambda h: net.step(h, noise), h, v)
    torch.testing.assert_close(new, truth, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(pushed, derivative, rtol=1e-11, atol=1e-12)


def as_module(W: torch.Tensor, gain: float, strength: float) -> RNN:
    """The same recurrence as a module, whose inputs are the noise itself."""
    H = len(W)
    module = RNN(H, H, dtype=torch.float64, eps=0.0)
    with torch.no_grad():
        module.get_parameter("weight_hh_l0").copy_(W)
        module.get_parameter("weight_ih_l0").copy_(strength * torch.eye(H, dtype=W.dtype))
        module.get_parameter("gain_ih_l0").fill_(gain)
    return module


def test_the_exponent_is_the_one_that_the_diagnostics_find() -> None:
    net, steps = networks(H=24, gain=(1.5,), strength=(0.5,), count=1), 400
    ours = dynamics.exponents(net, steps, 100, generator(5))
    draw = generator(5)  # the same first state and inputs again
    h, _, x = net.states(draw), net.states(draw), torch.cat([net.noise(draw) for _ in range(steps)])
    theirs = lyapunov(as_module(net.W[0], 1.5, 0.5), x, h[0][None], skip=100)
    # after 100 steps both follow the same direction, up to the second exponent's e^{-100 gap}
    assert ours[0, 0] == pytest.approx(float(theirs[0, 0]), abs=1e-4)


def test_gradients_are_products_of_jacobians() -> None:
    net = networks(H=5, gain=(1.3,), strength=(0.4,), count=1)
    norms = dynamics.gradient_norms(net, 3, 2, generator(4))
    draw = generator(4)
    h = net.states(draw)
    jacobians = []
    for _ in range(5):
        noise = net.noise(draw)
        jacobians.append(torch.func.jacrev(lambda h, x=noise: net.step(h, x))(h).reshape(5, 5))
        h = net.step(h, noise)
    v = torch.nn.functional.normalize(net.states(draw), dim=-1).flatten()
    expected = [v]
    for J in reversed(jacobians[2:]):
        expected.append(expected[-1] @ J)
    np.testing.assert_allclose(norms[:, 0, 0], [float(e.norm()) for e in expected], rtol=1e-10)
