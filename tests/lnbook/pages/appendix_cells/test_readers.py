"""Recurrent networks that read digits: first updates, and every variant on the same weights and data."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.appendix_cells import readers
from lnlib import rnn

DIGITS = data.load("digits", on_stand_in="silent")


@pytest.mark.parametrize(("kind", "b"), [(rnn.LSTM, 0.1), (rnn.GRU, 0.0)])
def test_a_start_at_gain_0_wakes_up_in_a_gru_and_where_units_differ(kind: type, b: float) -> None:
    cases, start = readers.sequences(DIGITS, "test"), {"gain": 0.0, "bias": 1.0, "b": b}
    run = readers.learn(kind, cases, cases, 0, units=8, start=start, updates=5)
    assert all(distance > 0 for distance in run.moved.values())


def test_sequences_are_the_images_row_by_row() -> None:
    x, _ = readers.sequences(DIGITS, "train")
    np.testing.assert_allclose(x[3], DIGITS.flat("train")[0][3].reshape(8, 8))


def test_readers_of_one_seed_start_with_the_same_weights_whatever_their_variant() -> None:
    begun = {
        name: readers.Reader(3, 6, name, torch.Generator().manual_seed(0))
        for name in ("none", *rnn.VARIANTS["LSTM"])
    }
    first = begun.pop("none").state_dict()
    for name, reader in begun.items():
        for key, value in reader.state_dict().items():
            if "weight" in key:
                assert torch.equal(value, first[key]), (name, key)
            elif "bias" in key:
                assert value.sum() == (6 if key == "lstm.bias_hh_l0" else 0), (name, key)
            else:
                assert (value == 1).all(), (name, key)


def test_weights_moved_to_their_own_variant_keep_their_error_and_elsewhere_they_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(readers.SIZES, "tiny", (1, 16, 32, 60))
    digits = readers.pictures(DIGITS)
    names = "paper", "normalized_state"
    found = readers.readers([(name, 0.01) for name in names], 0, "tiny", digits)
    own = [found[name, 0.01][0][0] for name in names]
    assert own[0] < 60  # guessing has 90
    (errors,) = readers.moves({name: found[name, 0.01] for name in names}, digits)
    assert errors.shape == (2, 2)
    # One of 360 answers may turn, as results of another order of additions do: 0.28 %.
    np.testing.assert_allclose(errors.diagonal(), own, atol=0.3)
    assert errors[0, 1] > own[0] + 1
