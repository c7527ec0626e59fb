"""The diagnostics against finite differences, linear systems and exponents known in closed form."""

from functools import partial

import pytest
import torch
from networks import draw, every_kind, random_network, states
from torch import Tensor
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

from lnlib.rnn import RNN
from lnlib.rnn.diagnostics import diagnose, gradient_by_lag, jacobians, lyapunov, singular_values, trace

NETWORKS = [("RNN", "layer"), ("RNN", "weight"), ("LSTM", "layer"), ("LSTM", "none"), ("GRU", "rms")]
network = partial(random_network, (3, 4))


def linear(W: Tensor, V: Tensor | None = None) -> RNN:
    """h' = W h + V x, as long as h stays so small that tanh is the identity to the last bit."""
    module = RNN(1 if V is None else V.shape[1], len(W), bias=False, norm="none", dtype=torch.float64)
    with torch.no_grad():
        module.weight_hh_l0.copy_(W)
        module.weight_ih_l0.zero_() if V is None else module.weight_ih_l0.copy_(V)
    return module


def flat(hx) -> Tensor:
    """(N, S) of a state in torch's form: h of all layers, then c of all layers."""
    return torch.cat([s.transpose(0, 1).flatten(1) for s in states(hx)], 1)


@pytest.mark.parametrize(("kind", "norm"), [*NETWORKS, ("RNN", "batch")])
def test_jacobians_are_those_of_finite_differences(kind, norm):
    more = {"max_steps": 1} if norm == "batch" else {}  # one row of statistics for all steps
    module, x, step = network(kind, num_layers=2, norm=norm, **more), draw(5, 2, 3), 1e-6
    module(x)
    module.eval()
    J = jacobians(module, x)
    with torch.no_grad():
        _, before = module(x[:3])
        parts = before if kind == "LSTM" else (before,)
        for column in range(J.shape[-1]):
            moved = []
            for sign in (1, -1):
                shifted = [p.clone() for p in parts]
                which, unit = divmod(column, 8)  # 2 layers of 4 units
                shifted[which][unit // 4, :, unit % 4] += sign * step
                moved.append(flat(module(x[3:4], tuple(shifted) if kind == "LSTM" else shifted[0])[1]))
            # differences of second order in the step, and rounding divided by it
            assert_close(J[3, :, :, column], (moved[0] - moved[1]) / (2 * step), atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize(("kind", "norm"), NETWORKS)
def test_a_trace_shows_what_the_module_computes(kind, norm):
    module, x = network(kind, num_layers=2, norm=norm), draw(6, 2, 3)
    found, (out, last) = trace(module, x), module(x)
    assert_close(found.h, out)
    if kind == "LSTM":
        assert_close(found.c[-1], last[1][-1])
    else:
        assert found.c is None
    first = trace(module, x, layer=0)
    assert_close(first.h[-1], (last[0] if kind == "LSTM" else last)[0])


def test_saturation_is_the_share_of_units_at_the_ends_of_their_range():
    module, x = network("RNN", norm="none", bias=False), draw(6, 2, 3)
    found = trace(module, x)
    assert_close(found.summed_inputs.tanh(), found.h)
    assert_close(found.mean, found.h.atanh().mean(-1))
    assert_close(found.std, found.h.atanh().std(-1, correction=0))
    assert_close(found.saturation, (found.h.abs() > 0.95).double().mean(-1))
    assert trace(network("RNN", nonlinearity="relu"), x).saturation.max() == 0  # which has no range
    module = network("LSTM", norm="none")
    with torch.no_grad():
        for value in module.parameters():
            value.zero_()
        assert trace(module, x).saturation.max() == 0
        module.bias_ih_l0.copy_(torch.tensor([-9.0, 9, 0, 0]).repeat_interleave(4))
    # i and f of (i, f, g, o, tanh c)
    assert_close(trace(module, x).saturation, torch.full((6, 2), 0.4, dtype=torch.float64))


def test_noise_is_left_out_and_running_statistics_are_used_as_in_evaluation():
    x = draw(6, 5, 3)
    noisy = network("LSTM", zoneout=0.3, recurrent_dropout=0.1).train()
    batch = network("GRU", norm="batch", max_steps=4)
    batch(x)
    for module in (noisy, batch.train()):
        found, count = trace(module, x), module.training
        assert_close(found.h, module.eval()(x)[0])
        assert count
        torch.testing.assert_close(trace(module, x).h, found.h, rtol=0, atol=0)


def test_a_long_way_of_giving_a_sequence_is_the_same_sequence():
    x, h0 = draw(6, 2, 3), draw(1, 2, 4, seed=1)
    module = network("RNN")
    turned = network("RNN", batch_first=True)
    J = jacobians(module, x, h0)
    assert_close(jacobians(turned, x.transpose(0, 1), h0), J)
    assert_close(jacobians(module, x[:, 1], h0[:, 1]), J[:, 1:])
    assert_close(jacobians(turned, x[:, 1], h0[:, 1]), J[:, 1:])
    assert_close(singular_values(module, x, h0)[3, 1], torch.linalg.svdvals(J[3, 1]))


def test_a_linear_network_has_the_logarithms_of_its_eigenvalues_for_exponents():
    basis, _ = torch.linalg.qr(draw(4, 4))
    W = basis @ torch.diag(torch.tensor([0.9, 0.5, 0.3, 0.1], dtype=torch.float64)) @ basis.mT
    found = lyapunov(linear(W), torch.zeros(80, 2, 1, dtype=torch.float64), exponents=4, skip=40)
    # the directions have turned into place up to (0.5 / 0.9)**80
    assert_close(found, torch.tensor([0.9, 0.5, 0.3, 0.1]).log().double().expand(2, 4), atol=1e-6, rtol=0)


@every_kind
def test_all_exponents_together_are_the_contraction_of_volume(kind):
    module, x = network(kind, norm="rms"), draw(30, 2, 3)
    size = 8 if kind == "LSTM" else 4
    volume = torch.linalg.slogdet(jacobians(module, x)).logabsdet.mean(0)
    assert_close(lyapunov(module, x, exponents=size).sum(1), volume, atol=1e-8, rtol=0)


def test_layer_norm_deletes_directions_and_they_count_as_minus_infinity():
    module = network("RNN", eps=0.0)
    assert (singular_values(module, draw(5, 2, 3))[..., -2:] < 1e-12).all()  # 1 and the normalized vector
    least = lyapunov(module, draw(5, 2, 3), exponents=4)[:, -1]
    assert (least < -20).all()  # the logarithm of rounding, or of zero


def test_the_gradient_of_a_linear_network_is_a_power_of_its_matrix_and_probes_measure_the_same():
    W, V = 0.5 * draw(4, 4), draw(4, 3, seed=1)
    found = gradient_by_lag(linear(W, V), torch.zeros(6, 2, 3, dtype=torch.float64), probes=None)
    expected = torch.stack([torch.linalg.matrix_norm(torch.linalg.matrix_power(W, k) @ V) for k in range(6)])
    assert_close(found, expected)
    module, x = random_network((3, 6), "LSTM"), draw(8, 5, 3)
    exact = gradient_by_lag(module, x, probes=None)
    # 400 probes of 5 cases: the square of a rank-one Jacobian is off by sqrt(2 / 400) at worst
    assert_close(gradient_by_lag(module, x, probes=400), exact, rtol=0.15, atol=0)


def test_a_diagnosis_holds_all_and_touches_nothing():
    module, x = network("LSTM", batch_first=True).train(), draw(5, 8, 3)
    copy, before = x.clone(), [p.clone() for p in module.parameters()]
    found = diagnose(module, x)
    assert_close(found.trace.h, module(x)[0].transpose(0, 1))
    assert found.singular_values.shape == (8, 5, 8)
    assert_close(found.lyapunov, lyapunov(module, x, skip=2)[:, 0])
    assert found.gradient_by_lag.shape == (8,)
    assert module.training
    assert torch.equal(x, copy)
    assert not x.requires_grad
    assert all(p.grad is None and torch.equal(p, b) for p, b in zip(module.parameters(), before, strict=True))


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda m, x: lyapunov(m, x, exponents=5), "exponents is 5"),
        (lambda m, x: lyapunov(m, x, exponents=0), "exponents is 0"),
        (lambda m, x: lyapunov(m, x, skip=6), "skip is 6"),
        (lambda m, x: gradient_by_lag(m, x, probes=0), "probes is 0"),
        (lambda m, x: trace(m, x[:0]), "0 steps"),
        (lambda m, x: trace(m, x[:, :0]), "0 cases"),
        (lambda m, x: trace(network("RNN", bidirectional=True), x), "backward in time"),
        (lambda m, x: trace(torch.nn.RNN(3, 4), x), "norm='none' and load_torch"),
        (lambda m, x: trace(m, pack_sequence([x[:, 0]])), "PackedSequence"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(call, names):
    with pytest.raises((TypeError, ValueError), match=names):
        call(network("RNN"), draw(6, 2, 3))
