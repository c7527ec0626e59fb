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


def module() -> torch.nn.RNNBase:
    return rnn.GRU(D, H, eps=0.0, dtype=torch.float64)


def test_print_and_module_agree_in_outputs_and_slopes(rng) -> None:
    p, d = (cells.letters("GRU", H, D, rng) for _ in range(2))
    off, slope = cells.compare(module(), GRU, cells.gru_names, p, d, rng.normal(size=(T, D)))
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
def test_a_letter_in_the_wrong_place_shows(names: Callable[..., dict[str, torch.Tensor]], rng) -> None:
    p, d = (cells.letters("GRU", H, D, rng) for _ in range(2))
    off, slope = cells.compare(module(), GRU, names, p, d, rng.normal(size=(T, D)))
    assert off > 1e-2
    assert slope > 1e-3


def test_letters_have_the_prints_shapes(rng) -> None:
    lstm, gru = cells.letters("LSTM", H, D, rng), cells.letters("GRU", H, D, rng)
    assert lstm["W_h"].shape == (4 * H, H)
    assert lstm["alpha_2"].shape == lstm["b"].shape == (4 * H,)
    assert lstm["alpha_3"].shape == lstm["c_0"].shape == (H,)
    assert gru["W"].shape == (H, D)
    assert gru["beta_2"].shape == (2 * H,)
    assert gru["beta_4"].shape == (H,)
    assert "c_0" not in gru


def test_bare_silences_the_betas_of_the_gates_and_keeps_all_else(rng) -> None:
    for kind, silent in (("LSTM", {"beta_1", "beta_2"}), ("GRU", {f"beta_{k}" for k in (1, 2, 3, 4)})):
        p = cells.letters(kind, H, D, rng)
        quiet = cells.bare(p)
        assert {name for name in p if not np.array_equal(p[name], quiet[name])} == silent
        assert not any(quiet[name].any() for name in silent)


def test_forward_is_the_print_with_an_epsilon(rng) -> None:
    p, X = cells.letters("LSTM", H, D, rng), rng.normal(size=(T, D))
    h, c = p["h_0"], p["c_0"]
    outputs, kept = cells.forward(p, X, eps=0.0)
    for x, output, saved in zip(X, outputs, kept, strict=True):
        np.testing.assert_array_equal(saved[1], h)
        np.testing.assert_allclose(saved[2], c, rtol=0, atol=1e-13)  # a few roundings a step
        f, i, o, g = cells.by_letter(eq.eq20, {**p, "h": h, "x": x})
        c = eq.eq21(f, i, g, c)
        np.testing.assert_allclose(
            output, cells.by_letter(eq.eq22, {**p, "o": o, "c": c}), rtol=0, atol=1e-13
        )
        h = output


def test_forward_survives_a_state_of_zeros_where_the_print_does_not(rng) -> None:
    p, X = cells.letters("LSTM", H, D, rng), rng.normal(size=(T, D))
    p["h_0"] = np.zeros(H)
    with np.errstate(invalid="ignore"):
        assert np.isnan(cells.by_letter(eq.eq20, {**p, "h": p["h_0"], "x": X[0]})).all()
    assert np.isfinite(cells.forward(p, X, eps=1e-5)[0]).all()


def test_autograd_gives_all_gradients_of_the_outputs(rng) -> None:
    p, X = cells.letters("GRU", H, D, rng), rng.normal(size=(T, D))
    net = module()
    for _ in range(2):  # nothing is left from the call before
        outputs, gradients = cells.autograd(net, cells.gru_names, p, X, np.ones((T, H)))
    np.testing.assert_allclose(outputs, GRU(p, X), rtol=0, atol=1e-13)
    assert set(gradients) == {*dict(net.named_parameters()), "h_0"}
    p["beta_3"] = p["beta_3"] + 1e-6
    slope = (GRU(p, X) - outputs).sum() / 1e-6
    assert float(gradients["bias_ih_l0"][2 * H :].sum()) == pytest.approx(
        slope, rel=1e-4
    )  # one-sided difference


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
