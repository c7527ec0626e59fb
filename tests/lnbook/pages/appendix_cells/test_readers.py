"""Recurrent networks that read digits: first updates, and every variant on the same weights and data."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.appendix_cells import readers
from lnlib import rnn

DIGITS = data.load("digits", on_stand_in="silent")


def test_a_start_at_gain_0_wakes_up_in_a_gru_and_where_units_differ() -> None:
    cases, start = readers.sequences(DIGITS, "test"), {"gain": 0.0, "bias": 1.0}
    np.testing.assert_allclose(cases[0][3], DIGITS.flat("test")[0][3].reshape(8, 8))  # row by row
    _, moved, _ = readers.learn(cases, cases, 0, 8, 5, start | {"b": 0.1}, rate=0.01, clip=np.inf)
    assert all(distance > 0 for distance in moved.values())
    gru = readers.started(rnn.GRU, 0, 8, 8, **start)
    (gru(cases[0].double().transpose(0, 1))[0][-1] * torch.arange(8)).sum().backward()
    for gain in (gru.gain_ih_l0, gru.gain_hh_l0):
        assert (gain.grad.unflatten(0, (3, 8)) != 0).any(1).all()


def test_readers_of_one_seed_start_with_the_same_weights_whatever_their_variant() -> None:
    begun = {
        name: readers.Reader(3, 6, name, torch.Generator().manual_seed(0)) for name in rnn.VARIANTS["LSTM"]
    }
    first = begun["draw"].state_dict()
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
    digits, names = readers.pictures(DIGITS), ("paper", "normalized_state")
    found = readers.readers([(name, 0.01) for name in names], 0, "tiny", digits)
    own = [found[name, 0.01][0][0] for name in names]
    assert own[0] < 60  # guessing has 90
    (errors,) = readers.moves({name: found[name, 0.01] for name in names}, digits)
    # One of 360 answers may turn, as results of another order of additions do: 0.28 %.
    np.testing.assert_allclose(errors.diagonal(), own, atol=0.3)
    assert errors[0, 1] > own[0] + 1
