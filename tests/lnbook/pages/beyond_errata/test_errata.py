"""What an update of a layer-normalized LSTM costs."""

import torch

from lnbook.pages.beyond_errata.update_costs import updates


def lstm_step(x, h, c, W_x, W_h, norm):
    """Eqs. (17)-(19) in torch's order of gates, without biases."""
    i, f, g, o = (norm(h @ W_h.T) + norm(x @ W_x.T)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * norm(c).tanh(), c


def test_without_a_norm_the_loop_is_torchs_lstm_and_has_its_gradients(monkeypatch) -> None:
    made = []
    lstm = torch.nn.LSTM(3, 5)
    with torch.no_grad():
        lstm.bias_ih_l0.zero_()
        lstm.bias_hh_l0.zero_()
    monkeypatch.setattr(
        "lnbook.pages.beyond_errata.update_costs.nn.LSTM", lambda *sizes: made.append(sizes) or lstm
    )
    ours, native = updates(lstm_step, units=5, inputs=3, batch=2, steps=4)
    assert made == [(3, 5)]
    ours(lambda z: z)
    looped = lstm.weight_hh_l0.grad.clone(), lstm.weight_ih_l0.grad.clone()
    lstm.zero_grad()
    native()
    # Two float32 orders of summation over 4 steps of values below 1: 1e-6 is ten roundings.
    torch.testing.assert_close(looped[0], lstm.weight_hh_l0.grad, rtol=0, atol=1e-6)
    torch.testing.assert_close(looped[1], lstm.weight_ih_l0.grad, rtol=0, atol=1e-6)
