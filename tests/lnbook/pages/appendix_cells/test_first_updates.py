"""The first updates of recurrent networks: starts, the trap, blank steps."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.appendix_cells import first_updates as first
from lnlib import rnn

PRINTED = {"gain": 0.0, "bias": 1.0}
Cases = tuple[torch.Tensor, torch.Tensor]


@pytest.fixture
def cases() -> Cases:
    """Random sequences whose class is in their first step."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(10, (200,), generator=generator)
    x = torch.randn(200, 4, 10, generator=generator) / 10
    x[torch.arange(200), 0, y] += 1
    return x, y


def test_a_start_has_the_gains_and_biases_asked_for_and_the_seeds_weights() -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    one, other = first.started(rnn.LSTM, 3, 5, 1), first.started(rnn.LSTM, 3, 5, 1, **PRINTED)
    assert torch.equal(torch.rand(1), expected)  # the global generator is as before
    assert torch.equal(one.weight_hh_l0, other.weight_hh_l0)
    assert (one.gain_cell_l0 == 1).all()
    assert (other.gain_cell_l0 == 0).all()
    assert (other.bias_ih_l0 == 1).all()
    spread = first.started(rnn.LSTM, 3, 500, 1, gain=0.0, spread=0.1).gain_cell_l0
    assert 0.08 < spread.std() < 0.12


def test_learning_lowers_the_loss_and_moves_the_gains_of_all_gates(cases: Cases) -> None:
    (run,) = first.runs(rnn.LSTM, cases, cases, [0], units=8, updates=60)
    assert run.loss[-1] < 0.7 * run.loss[0]
    assert set(run.moved) == {"i", "f", "g", "o", "cell"}
    assert all(distance[0] == 0 < distance[-1] for distance in run.moved.values())
    assert run.error < 60


def test_an_lstm_started_as_printed_keeps_its_memory_shut_unless_units_differ(cases: Cases) -> None:
    (run,) = first.runs(rnn.LSTM, cases, cases, [0], units=8, start=PRINTED, updates=40)
    assert not any(run.moved[name].any() for name in ("i", "f", "g", "cell"))
    assert run.moved["o"][-1] > 0
    for unequal in ({"gain": 0.0, "spread": 0.1}, PRINTED | {"b": 0.1}):
        (run,) = first.runs(rnn.LSTM, cases, cases, [0], units=8, start=unequal, updates=5)
        assert all(run.moved[name][-1] > 0 for name in run.moved)


def test_a_gru_started_as_printed_wakes_up(cases: Cases) -> None:
    (run,) = first.runs(rnn.GRU, cases, cases, [0], units=8, start=PRINTED, updates=5)
    assert set(run.moved) == {"r", "z", "n"}
    assert all(distance[-1] > 0 for distance in run.moved.values())


def test_a_run_stops_at_a_loss_that_is_no_number(cases: Cases) -> None:
    x, y = cases
    network = first.started(rnn.LSTM, 10, 8, 0)
    run = first.learn(network, (x * float("nan"), y), cases, seed=0, updates=30)
    assert len(run.loss) == 1
    assert np.isnan(run.loss[-1])


def test_sequences_are_the_images_row_by_row_and_standardizing_centres_them() -> None:
    digits = data.load("digits", on_stand_in="silent")
    x, y = first.sequences(digits, "train")
    np.testing.assert_allclose(x[3], digits.flat("train")[0][3].reshape(8, 8))
    assert len(x) == len(y)
    z, same = first.standardized((x, y), x)
    assert same is y
    assert z.mean().abs() < 1e-5  # float32
    assert float(z.std()) == pytest.approx(1, abs=1e-5)


def test_each_blank_step_multiplies_the_gradient_by_a_quarter_over_epsilon() -> None:
    network = first.started(rnn.LSTM, 3, 16, 0)
    x = torch.randn(1, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    grown = [first.bias_gradient(network, x, blank) for blank in (3, 4, 5)]
    W = network.weight_hh_l0.detach().chunk(4)[2]
    # the map of one step; its long-run factor is the spectral radius, an upper bound of one step its norm
    norm = float(torch.linalg.matrix_norm(W - W.mean(0), 2)) / (4 * network.eps)
    assert 1000 < grown[1] / grown[0] < 2 * norm
    assert 1000 < grown[2] / grown[1] < 2 * norm
    lively = first.started(rnn.LSTM, 3, 16, 0)
    with torch.no_grad():
        lively.get_parameter("bias_ih_l0").normal_(generator=torch.Generator().manual_seed(0))
    assert first.bias_gradient(lively, x, 5) < 10
