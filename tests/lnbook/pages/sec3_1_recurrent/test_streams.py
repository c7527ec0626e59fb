"""Section 3.1's networks: the streams they read, how they start, and what is measured on them."""

import math

import pytest
import torch
from torch.testing import assert_close

from lnbook import data
from lnbook.pages.sec3_1_recurrent.streams import NO_ANSWER, Reader, Streams, drift


@pytest.fixture(scope="module")
def images():
    return data.load("digits")


@pytest.fixture(scope="module")
def streams(images):
    return Streams(images, "test")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_stream_is_images_row_by_row_with_an_answer_at_each_last_row(streams):
    x, y = streams.draw(20, 3, seeded())
    chosen = torch.randint(len(streams.images), (4, 3), generator=seeded())
    assert_close(x[8:16, 1], streams.images[chosen[1, 1]])
    assert torch.equal(y[15], streams.labels[chosen[1]])
    assert (y[[k for k in range(20) if k % 8 != 7]] == NO_ANSWER).all()


def test_a_stream_that_begins_anywhere_is_a_piece_of_one_that_does_not(streams):
    x, y = streams.draw(30, 40, seeded(), anywhere=True)
    whole, answers = streams.draw(38, 40, seeded())
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
    batch = Reader("batch", 1, 0, max_steps=5).rnn
    assert_close(batch.gain_ih_l0, torch.full((64,), 0.1))  # its small gain stays


def test_a_linear_factor_shows_as_drift(streams):
    x, _ = streams.draw(60, 4, seeded(), anywhere=True)
    model = Reader("none", 1.5, 0, nonlinearity="relu")
    with torch.no_grad():
        model.rnn.weight_hh_l0.copy_(1.5 * torch.eye(64))
        model.rnn.weight_ih_l0.abs_()
    # positive weights keep every unit on the rectifier's linear side once inputs have added up
    assert drift(model, x.abs(), after=30) == pytest.approx(math.log(1.5), rel=1e-3)
    assert abs(drift(Reader("none", 1.5, 0), x)) < 0.01
