"""Section 3.1's networks: the streams they read, how they start, and what is measured on them."""

import math

import pytest
import torch
from torch.testing import assert_close

from lnbook import data
from lnbook.pages.sec3_1_recurrent.streams import NO_ANSWER, Reader, draw, drift


def stream(steps: int, cases: int, *, anywhere: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return draw(data.load("digits"), "test", steps, cases, generator, anywhere=anywhere)


def test_a_stream_is_images_row_by_row_with_an_answer_at_each_last_row():
    digits = data.load("digits")
    pixels, labels = map(torch.from_numpy, digits.flat("test"))
    training = digits.flat("train")[0]
    scaled = ((pixels - training.mean()) / training.std()).view(-1, 8, 8)
    x, y = stream(20, 3)
    chosen = torch.randint(len(pixels), (4, 3), generator=torch.Generator().manual_seed(0))
    assert_close(x[8:16, 1], scaled[chosen[1, 1]])
    assert torch.equal(y[15], labels[chosen[1]])
    assert (y[[k for k in range(20) if k % 8 != 7]] == NO_ANSWER).all()


def test_a_stream_that_begins_anywhere_is_a_piece_of_one_that_does_not():
    (x, y), (whole, answers) = stream(30, 40, anywhere=True), stream(38, 40)
    first = 7 - (y[:8] != NO_ANSWER).int().argmax(0)
    assert len(first.unique()) == 8
    for n, start in enumerate(first):
        assert torch.equal(x[:, n], whole[start : start + 30, n])
        assert torch.equal(y[:, n], answers[start : start + 30, n])


def test_networks_of_one_seed_start_alike_but_for_factor_and_norm():
    plain, normed = Reader("none", 1, 3), Reader("layer", 4, 3)
    assert_close(normed.rnn.weight_hh_l0, 4 * plain.rnn.weight_hh_l0)
    assert_close(normed.rnn.weight_ih_l0, plain.rnn.weight_ih_l0)
    assert_close(normed.readout.weight, plain.readout.weight)
    assert_close(torch.linalg.svdvals(plain.rnn.weight_hh_l0), torch.ones(64))
    assert_close(Reader("batch", 1, 0, max_steps=5).rnn.gain_ih_l0, torch.full((64,), 0.1))  # it stays small


def test_a_linear_factor_shows_as_drift():
    x, _ = stream(60, 4, anywhere=True)
    model = Reader("none", 1.5, 0, nonlinearity="relu")
    with torch.no_grad():
        model.rnn.weight_hh_l0.copy_(1.5 * torch.eye(64))
        model.rnn.weight_ih_l0.abs_()
    # positive weights keep every unit on the rectifier's linear side once inputs have added up
    assert drift(model, x.abs(), after=30) == pytest.approx(math.log(1.5), rel=1e-3)
    assert abs(drift(Reader("none", 1.5, 0), x)) < 0.01
