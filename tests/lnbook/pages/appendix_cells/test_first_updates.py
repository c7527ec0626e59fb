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


def run(kind: type, cases: Cases, updates: int, **start: float) -> first.Run:
    return first.runs(kind, cases, cases, [0], units=8, start=start, updates=updates)[0]


def test_learning_lowers_the_loss_and_moves_the_gains_of_all_gates(cases: Cases) -> None:
    found = run(rnn.LSTM, cases, 60)
    assert found.loss[-1] < 0.7 * found.loss[0]
    assert set(found.moved) == {"i", "f", "g", "o", "cell"}
    assert all(distance[0] == 0 < distance[-1] for distance in found.moved.values())
    assert found.error < 60


def test_an_lstm_started_as_printed_keeps_its_memory_shut_unless_units_differ(cases: Cases) -> None:
    found = run(rnn.LSTM, cases, 40, **PRINTED)
    assert not any(found.moved[name].any() for name in ("i", "f", "g", "cell"))
    assert found.moved["o"][-1] > 0
    for unequal in ({"gain": 0.0, "spread": 0.1}, PRINTED | {"b": 0.1}):
        assert all(distance[-1] > 0 for distance in run(rnn.LSTM, cases, 5, **unequal).moved.values())


def test_a_gru_started_as_printed_wakes_up(cases: Cases) -> None:
    found = run(rnn.GRU, cases, 5, **PRINTED)
    assert set(found.moved) == {"r", "z", "n"}
    assert all(distance[-1] > 0 for distance in found.moved.values())


def test_a_run_stops_at_a_loss_that_is_no_number(cases: Cases) -> None:
    x, y = cases
    found = run(rnn.LSTM, (x * float("nan"), y), 30)
    assert len(found.loss) == 1
    assert np.isnan(found.loss[-1])


def test_sequences_are_the_images_row_by_row() -> None:
    digits = data.load("digits", on_stand_in="silent")
    x, _ = first.sequences(digits, "train")
    np.testing.assert_allclose(x[3], digits.flat("train")[0][3].reshape(8, 8))
    x = torch.tensor([[[0.0], [0.0], [1.0]], [[1.0], [0.0], [0.0]]])
    assert first.blank_rows(x).tolist() == [2, 0]


def test_each_blank_step_multiplies_the_gradient_by_a_quarter_over_epsilon() -> None:
    network = first.started(rnn.LSTM, 3, 16, 0)
    x = torch.randn(1, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    grown = [first.bias_gradient(network, x, blank) for blank in (3, 4, 5)]
    W = network.weight_hh_l0.detach().chunk(4)[2]
    # the map of one step; its long-run factor is the spectral radius, an upper bound of one step its norm
    norm = float(torch.linalg.matrix_norm(W - W.mean(0), 2)) / (4 * network.eps)
    assert 1000 < grown[1] / grown[0] < 2 * norm
    assert 1000 < grown[2] / grown[1] < 2 * norm
    with torch.no_grad():
        network.get_parameter("bias_ih_l0").normal_(generator=torch.Generator().manual_seed(0))
    assert first.bias_gradient(network, x, 5) < 10  # biases that differ
