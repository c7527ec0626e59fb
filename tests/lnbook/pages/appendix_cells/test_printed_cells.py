"""The comparison of print and module finds every misplaced letter, and the bookkeeping around it is right."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch

import lnlib.equations as eq
from lnbook.pages.appendix_cells import drawings
from lnbook.pages.appendix_cells import printed_cells as cells
from lnlib import rnn
from lnlib.rnn.variants import PLAIN, VARIANTS

H, D, T = 4, 3, 6
GRU = cells.gru(eq.eq26, eq.eq27, eq.eq28)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def compared(names: Callable[..., dict[str, torch.Tensor]], rng: np.random.Generator) -> tuple[float, float]:
    p, d = (cells.letters("GRU", H, D, rng) for _ in range(2))
    module = rnn.GRU(D, H, eps=0.0, dtype=torch.float64)
    return cells.compare(module, GRU, names, p, d, rng.normal(size=(T, D)))


def test_print_and_module_agree_in_outputs_and_slopes(rng) -> None:
    off, slope = compared(cells.gru_names, rng)
    assert off < 1e-13  # sums of 4 products of numbers near 1
    assert slope < 1e-6  # the error of a central difference, (1e-5)^2, and its rounding, 1e-16 / 1e-5


def swap(p: dict[str, torch.Tensor], one: str, other: str) -> dict[str, torch.Tensor]:
    names = cells.gru_names(p)
    names[f"{one}_l0"], names[f"{other}_l0"] = names[f"{other}_l0"], names[f"{one}_l0"]
    return names


@pytest.mark.parametrize(
    "names",
    [
        partial(cells.gru_names, sign=-1),
        partial(swap, one="bias_ih", other="gain_ih"),
        partial(swap, one="gain_ih", other="gain_hh"),
        partial(swap, one="bias_ih", other="bias_hh"),
    ],
    ids=["sign of z", "gain for bias", "gains", "biases"],
)
def test_a_letter_in_the_wrong_place_shows(names, rng) -> None:
    off, slope = compared(names, rng)
    assert off > 1e-2
    assert slope > 1e-3


def test_forward_is_the_print_with_an_epsilon(rng) -> None:
    p, X = cells.letters("LSTM", H, D, rng), rng.normal(size=(T, D))
    h, c = p["h_0"], p["c_0"]
    outputs, kept = cells.forward(p, X, eps=0.0)
    for x, output, saved in zip(X, outputs, kept, strict=True):
        np.testing.assert_array_equal(saved[1], h)
        np.testing.assert_allclose(saved[2], c, rtol=0, atol=1e-13)  # a few roundings a step
        f, i, o, g = cells.by_letter(eq.eq20, {**p, "h": h, "x": x})
        c = eq.eq21(f, i, g, c)
        expected = cells.by_letter(eq.eq22, {**p, "o": o, "c": c})
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-13)
        h = output


def test_rank_counts_sums_once(rng) -> None:
    p, X = cells.letters("GRU", H, D, rng), rng.normal(size=(T, D))
    assert cells.rank(GRU, p, X, ["beta_1"]) == 2 * H
    assert cells.rank(GRU, p, X, ["beta_1", "beta_2"]) == 2 * H
    assert cells.rank(GRU, p, X, ["beta_3", "beta_4"]) == 2 * H


def test_every_variant_of_an_lstm_has_its_places() -> None:
    found = {name: drawings.places(variant) for name, variant in VARIANTS["LSTM"].items()}
    assert drawings.places(PLAIN) == set()
    assert found["paper"] == found["released"] == {1, 2, 3}
    assert found["joint"] == found["per_gate"] == {3, 4}
    assert found["draw"] == {3}
    assert found["normalized_state"] == {1, 2, 3, 5}
    assert found["rnmt"] == {4, 5}
    assert set.union(*found.values()) <= set(drawings.PLACES)
