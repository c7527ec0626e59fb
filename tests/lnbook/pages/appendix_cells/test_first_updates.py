"""The first updates of recurrent networks: starts, the trap, blank steps."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.appendix_cells import first_updates as first
from lnlib import rnn

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


@pytest.mark.parametrize(
    ("kind", "start"),
    [(rnn.LSTM, {"spread": 0.1}), (rnn.LSTM, {"bias": 1.0, "b": 0.1}), (rnn.GRU, {"bias": 1.0})],
)
def test_a_start_at_gain_0_wakes_up_in_a_gru_and_where_units_differ(kind, start, cases: Cases) -> None:
    assert all(distance[-1] > 0 for distance in run(kind, cases, 5, gain=0.0, **start).moved.values())


def test_sequences_are_the_images_row_by_row() -> None:
    digits = data.load("digits", on_stand_in="silent")
    x, _ = first.sequences(digits, "train")
    np.testing.assert_allclose(x[3], digits.flat("train")[0][3].reshape(8, 8))
    x = torch.tensor([[[0.0], [0.0], [1.0]], [[1.0], [0.0], [0.0]]])
    assert first.blank_rows(x).tolist() == [2, 0]
