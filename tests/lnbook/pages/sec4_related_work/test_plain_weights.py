"""The plain networks that normalized ones are, against those."""

import pytest
import torch

import lnlib
from lnbook.pages.sec4_related_work import plain_weights as plain
from lnlib.norms.batch import batch_norm_by
from lnlib.norms.normalize import layer_norm, weight_norm

EXACT = {"rtol": 1e-12, "atol": 1e-12}  # rounding of float64


@pytest.fixture
def draw():
    g = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(*shape, generator=g, dtype=torch.float64)


def test_stored_batch_norm_and_weight_norm_are_the_layers_given(draw) -> None:
    W, b, gain, mean, std, x = draw(4, 3), draw(4), draw(4), draw(4), draw(4).exp(), draw(9, 3)
    V, c = plain.plain_weights(W, b, gain, mean, std)
    expected = batch_norm_by(x @ W.T, mean, std**2, gain, b, eps=0.0)
    torch.testing.assert_close(x @ V.T + c, expected, **EXACT)
    V, c = plain.plain_weights(W, b, gain, torch.zeros(4).double(), W.norm(dim=1))
    torch.testing.assert_close(V, weight_norm(W, gain), **EXACT)
    assert torch.equal(c, b)


def test_a_weight_normalized_lstm_is_torch_s_with_the_weights_given(draw) -> None:
    lstm, x = lnlib.LSTM(3, 4, norm="weight").double(), draw(6, 2, 3)
    for p in lstm.parameters():
        p.data.copy_(draw(*p.shape))
    torch.testing.assert_close(plain.plain_lstm(lstm)(x)[0], lstm(x)[0], **EXACT)


def test_a_batch_normalized_rnn_is_another_plain_one_at_each_step(draw) -> None:
    rnn = lnlib.RNN(3, 4, norm="batch", max_steps=5).double()
    for p in rnn.parameters():
        p.data.copy_(draw(*p.shape))
    for _ in range(3):
        rnn(draw(5, 20, 3))
    rnn.eval()
    x, h, steps = draw(5, 2, 3), torch.zeros(2, 4).double(), plain.plain_steps(rnn)
    for x_t, expected, (U, V, c) in zip(x, rnn(x)[0], steps, strict=True):
        h = torch.tanh(x_t @ U.T + h @ V.T + c)
        torch.testing.assert_close(h, expected, **EXACT)
    assert not torch.allclose(steps[0][1], steps[4][1], rtol=0.01)


def test_the_misfit_is_zero_for_affine_maps_and_not_for_layer_norm(draw) -> None:
    x, W = draw(200, 3), draw(6, 3)
    assert plain.affine_misfit(x, x @ W.T + 1) < 1e-20  # squares of roundings
    assert plain.affine_misfit(x, layer_norm(x @ W.T)) > 1
