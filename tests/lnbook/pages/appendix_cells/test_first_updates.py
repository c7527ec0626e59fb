"""The first updates of recurrent networks: starts, the trap, blank steps."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.appendix_cells import first_updates as first
from lnlib import rnn

DIGITS = data.load("digits", on_stand_in="silent")


@pytest.mark.parametrize(("kind", "b"), [(rnn.LSTM, 0.1), (rnn.GRU, 0.0)])
def test_a_start_at_gain_0_wakes_up_in_a_gru_and_where_units_differ(kind: type, b: float) -> None:
    cases, start = first.sequences(DIGITS, "test"), {"gain": 0.0, "bias": 1.0, "b": b}
    (run,) = first.runs(kind, cases, cases, [0], units=8, start=start, updates=5)
    assert all(distance > 0 for distance in run.moved.values())


def test_sequences_are_the_images_row_by_row() -> None:
    x, _ = first.sequences(DIGITS, "train")
    np.testing.assert_allclose(x[3], DIGITS.flat("train")[0][3].reshape(8, 8))
    x = torch.tensor([[[0.0], [0.0], [1.0]], [[1.0], [0.0], [0.0]]])
    assert first.blank_rows(x).tolist() == [2, 0]
