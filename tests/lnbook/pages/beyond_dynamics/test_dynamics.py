"""Random recurrences: their derivative, their exponents, and lnlib.rnn as a second opinion."""

import math

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_dynamics import drawings
from lnbook.pages.beyond_dynamics import measure as dynamics
from lnbook.pages.beyond_dynamics.measure import Networks
from lnbook.shared import mean_field
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


def test_torchs_weights_are_torchs() -> None:
    W = dynamics.torch_weights(4, 100, generator())
    assert float(W.abs().max()) <= 0.1
    assert float(W.var()) == pytest.approx(1 / 300, rel=0.02)  # 40,000 draws
    assert float(RNN(100, 100).weight_hh_l0.detach().var()) == pytest.approx(1 / 300, rel=0.05)


def as_module(W: torch.Tensor, gain: float, strength: float) -> RNN:
    """The same recurrence as a module, whose inputs are the noise itself."""
    H = len(W)
    module = RNN(H, H, dtype=torch.float64, eps=0.0)
    with torch.no_grad():
        module.get_parameter("weight_hh_l0").copy_(W)
        module.get_parameter("weight_ih_l0").copy_(strength * torch.eye(H, dtype=W.dtype))
        module.get_parameter("gain_ih_l0").fill_(gain)
    return module


def test_a_step_is_that_of_a_layer_normalized_module() -> None:
    net = networks(gain=(2.0,), strength=(0.7,), count=1)
    h, noise = net.states(generator(1)), net.noise(generator(2))
    out, _ = as_module(net.W[0], 2.0, 0.7)(noise, h[0][None])
    torch.testing.assert_close(net.step(h, noise)[0], out[0], rtol=1e-12, atol=1e-12)


def test_the_exponent_is_the_one_that_the_diagnostics_find() -> None:
    net, steps = networks(H=24, gain=(1.5,), strength=(0.5,), count=1), 400
    ours = dynamics.exponents(net, steps, 100, generator(5))
    draw = generator(5)  # the same first state and inputs again
    h, _, x = net.states(draw), net.states(draw), torch.cat([net.noise(draw) for _ in range(steps)])
    theirs = lyapunov(as_module(net.W[0], 1.5, 0.5), x, h[0][None], skip=100)
    # after 100 steps both follow the same direction, up to the second exponent's e^{-100 gap}
    assert ours[0, 0] == pytest.approx(float(theirs[0, 0]), abs=1e-4)


def test_the_exponent_of_a_wide_network_is_the_mean_fields() -> None:
    net = Networks(dynamics.weights(2, 300, generator()), (2.0, 2.0), (0.0, 0.5))
    measured = dynamics.exponents(net, 300, 100, generator(1)).mean(0)
    q = mean_field.gaussian_mean(lambda z: torch.tanh(2 * z).square())
    theory = [mean_field.exponent(torch.tanh, 2.0, share=q / (q + x**2)) for x in net.strength]
    np.testing.assert_allclose(measured, theory, rtol=0, atol=0.03)  # width 300 and 200 steps


def test_the_exponent_without_a_norm_follows_the_scale_of_the_weights() -> None:
    net = Networks(dynamics.weights(2, 300, generator()), (0.5, 2.0), (0.0, 0.0), norm="none")
    measured = dynamics.exponents(net, 300, 100, generator(1)).mean(0)
    theory = [mean_field.plain_exponent(torch.tanh, s) for s in net.gain]
    np.testing.assert_allclose(measured, theory, rtol=0, atol=0.04)


def test_the_scale_of_the_weights_does_not_matter_without_inputs() -> None:
    small = networks(strength=(0.0, 0.0))
    large = Networks(8 * small.W, small.gain, small.strength)  # a power of 2 rounds nothing
    one, two = (dynamics.exponents(n, 50, 10, generator(1)) for n in (small, large))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_opposite_states_stay_opposite() -> None:
    net = networks(strength=(0.0, 0.0))
    h = net.states(generator(1))
    nothing = net.noise(generator(2))
    assert not nothing.any()
    torch.testing.assert_close(net.step(-h, nothing), -net.step(h, nothing), rtol=0, atol=0)


def test_at_a_vanishing_gain_the_eigenvalues_say_the_exponent() -> None:
    W = dynamics.weights(6, 16, generator())
    moduli = np.sort(np.abs(np.linalg.eigvals((W - W.mean(1, keepdim=True)).numpy())))
    predicted = np.log(moduli[:, -2] / moduli[:, -1])
    measured = dynamics.exponents(Networks(W, (1e-3,), (0.0,)), 3000, 1000, generator(1))[:, 0]
    np.testing.assert_allclose(measured, predicted, rtol=0, atol=3e-3)  # the mean over 2000 steps of a turn
    assert (predicted < -0.01).any(), "no network with a real leading eigenvalue: nothing was tested"
    assert (predicted == 0).any(), "no network with a complex pair"


def test_twins_with_strong_inputs_meet_and_without_any_part() -> None:
    net = networks(H=100, gain=(1.5, 1.5), strength=(0.0, 2.0), count=1)
    states, distance = dynamics.twins(net, 1e-4, 300, 100, generator(1))
    assert states.shape == (301, 2, 1, 2, 100)
    np.testing.assert_allclose(distance[0], 1e-4, rtol=0.3)  # a random displacement of 100 units
    assert distance[-1, 0, 0] > 0.1
    assert distance[-1, 0, 1] < 1e-12


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


def test_a_crossing_is_found_between_the_measurements() -> None:
    values = np.array([[-1.0, 1.0, 2.0], [-3.0, -1.0, 1.0]])
    np.testing.assert_allclose(dynamics.crossing((0.0, 1.0, 2.0), values), [0.5, 1.5])
    with pytest.raises(ValueError, match="cross"):
        dynamics.crossing((0.0, 1.0, 2.0), -values)


def test_intervals_become_three_columns_a_name() -> None:
    columns = dynamics.columns({"gain 1": [(2.0, 1.0, 3.0), (5.0, 4.0, 6.0)]})
    assert columns == {"gain 1": [2.0, 5.0], "gain 1 low": [1.0, 4.0], "gain 1 high": [3.0, 6.0]}


def test_lstms_are_reproducible_and_leave_the_global_seed_alone() -> None:
    before = torch.random.get_rng_state()
    options = {"draws": 2, "H": 6, "steps": 12, "skip": 4, "seed": 3}
    one, two = (
        dynamics.lstm_exponents("none", "paper", (0.0, 1.0), (0.0, 1.0, 2.0), **options) for _ in "ab"
    )
    assert one.shape == (2, 2, 3)
    np.testing.assert_array_equal(one, two)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_forget_bias_makes_a_plain_lstm_remember() -> None:
    rows = dynamics.lstm_exponents(
        "none", "paper", (0.0, 3.0), (0.0,), draws=1, H=16, steps=80, skip=30, seed=0
    )
    assert rows[0, 0, 0] < rows[0, 1, 0] - 0.1
    # without state or input a gate of bias 3 keeps 1/(1 + e^-3) of its cell
    assert rows[0, 1, 0] == pytest.approx(math.log(1 / (1 + math.exp(-3))), abs=0.06)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"norm": "batch"}, "layer"), ({"gain": (1.0,)}, "1 gains and 2 strengths")],
)
def test_settings_that_make_no_sense_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        networks(**options)


def test_parting_shows_the_copies_while_they_part_and_the_expected_rates() -> None:
    steps = np.arange(300)
    distances = {"up": np.minimum(1e-6 * np.exp(0.1 * steps), 1.0), "down": 1e-6 * np.exp(-0.5 * steps)}
    unit = np.stack([np.sin(steps), np.cos(steps)], 1)
    fig = drawings.parting(
        unit, distances | {"still": np.full(300, 1e-6)}, {"up": 0.1, "down": -0.5, "still": 0.0}
    )
    left, right = fig.axes
    window = left.lines[0].get_xdata()
    assert window[0] < np.log(1e5) / 0.1 < window[-1], "the distance reaches a tenth within the window"
    np.testing.assert_array_equal(left.lines[1].get_ydata(), unit[window, 1])
    expected, shown = (right.lines[k].get_ydata() for k in (2, 3))
    np.testing.assert_allclose(expected, shown, rtol=1e-9)
