"""Digits read by every variant: the same weights and data for all, and what is measured on them."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.appendix_cells import variant_training as learn
from lnbook.pages.appendix_cells.variants import settings
from lnlib.rnn.variants import VARIANTS


def test_readers_of_one_seed_start_with_the_same_weights_whatever_their_variant() -> None:
    readers = {
        name: learn.Reader(3, 6, 2, settings(name), torch.Generator().manual_seed(0))
        for name in ("none", *VARIANTS["LSTM"])
    }
    first = readers.pop("none").state_dict()
    for name, reader in readers.items():
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
    monkeypatch.setitem(learn.SCALES, "tiny", learn.Scale(1, 16, 32, 60, processes=1))
    digits = learn.pictures(data.load("digits"))
    jobs = [("paper", 0.01), ("normalized_state", 0.01)]
    runs = learn.readers(jobs, 0, "tiny", digits)
    own = [runs[job][0]["error"] for job in jobs]
    assert own[0] < 60  # guessing has 90
    (errors,) = learn.moves([runs[job] for job in jobs], digits)
    assert errors.shape == (2, 2)
    # One of 360 answers may turn, as results of another order of additions do: 0.28 %.
    np.testing.assert_allclose(errors.diagonal(), own, atol=0.3)
    assert errors[0, 1] > own[0] + 1
