"""The printed cells against torch's own, against lnlib.rnn, and against what the print overlooks."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lnlib.equations as eq
from lnlib import rnn

H, D = 5, 3
TORCH_ORDER = [1, 0, 3, 2]  # f, i, o, g of the print to torch's i, f, g, o: two swaps
seeds = st.integers(0, 9)


def draw(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def reorder(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([np.split(rows, 4)[k] for k in TORCH_ORDER])


def zr_to_rz(rows: np.ndarray, sign: float = 1.0) -> np.ndarray:
    z, r = np.split(rows, 2)
    return np.concatenate([r, sign * z])


def fill(module: torch.nn.RNNBase, **values: np.ndarray) -> torch.nn.RNNBase:
    """Give a module of one layer these parameters, by their names without suffix, and zero to all others."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(torch.from_numpy(values.pop(name.removesuffix("_l0"), np.zeros(parameter.shape))))
    assert not values, f"no parameter for {list(values)}"
    return module


def one_step(module: torch.nn.RNNBase, x: np.ndarray, *state: np.ndarray) -> list[np.ndarray]:
    hx = [torch.from_numpy(s)[None] for s in state]
    _, after = module(torch.from_numpy(x)[None], tuple(hx) if len(hx) > 1 else hx[0])
    return [s[0].detach().numpy() for s in (after if len(hx) > 1 else (after,))]


@given(seeds)
def test_eq4_is_eq5_of_the_sum_of_both_projections(seed: int) -> None:
    W_hh, W_xh, h, x, g, b = draw(seed, (H, H), (H, D), (H,), (D,), (H,), (H,))
    a = W_hh @ h + W_xh @ x
    out, mu, sigma = eq.eq4(W_hh, W_xh, h, x, g, b, np.tanh)
    assert (mu, sigma) == eq.eq3(a)
    assert_allclose(out, eq.eq5(a, mu, sigma, g, b, np.tanh), rtol=0, atol=0)
    ours = fill(
        rnn.RNN(D, H, eps=0.0, dtype=torch.float64), weight_hh=W_hh, weight_ih=W_xh, gain_ih=g, bias_ih=b
    )
    # a dozen roundings of numbers near 1; a small sigma multiplies them
    assert_allclose(one_step(ours, x, h)[0], out, rtol=0, atol=1e-12 / min(sigma, 1))


@given(seeds)
def test_eqs_17_to_19_are_an_lstm_with_the_gates_in_another_order(seed: int) -> None:
    W_h, W_x, b, h, x, c = draw(seed, (4 * H, H), (4 * H, D), (4 * H,), (H,), (D,), (H,))
    f, i, o, g = eq.eq17(W_h, W_x, b, h, x)
    after = eq.eq18(f, i, g, c)
    module = torch.nn.LSTM(D, H, dtype=torch.float64)
    fill(module, weight_hh=reorder(W_h), weight_ih=reorder(W_x), bias_ih=reorder(b))
    # sums of 9 products of numbers near 1
    assert_allclose(one_step(module, x, h, c), [eq.eq19(o, after), after], rtol=0, atol=1e-13)
    fill(module, weight_hh=W_h, weight_ih=W_x, bias_ih=b)
    assert np.abs(one_step(module, x, h, c)[1] - after).max() > 1e-3  # the order matters


@given(seeds)
def test_eqs_20_to_22_are_the_layer_normalized_lstm(seed: int) -> None:
    W_h, W_x, h, x, c = draw(seed, (4 * H, H), (4 * H, D), (H,), (D,), (H,))
    b, *norms = draw(seed + 100, *[(4 * H,)] * 5, (H,), (H,))
    f, i, o, g = eq.eq20(W_h, W_x, b, h, x, *norms[:4])
    after = eq.eq21(f, i, g, c)
    module = fill(
        rnn.LSTM(D, H, eps=0.0, dtype=torch.float64),
        weight_hh=reorder(W_h),
        weight_ih=reorder(W_x),
        gain_hh=reorder(norms[0]),
        bias_hh=reorder(norms[1]),
        gain_ih=reorder(norms[2]),
        bias_ih=reorder(norms[3] + b),
        gain_cell=norms[4],
        bias_cell=norms[5],
    )
    printed = [eq.eq22(o, after, *norms[4:]), after]
    # 20 gates of one standard deviation: roundings of numbers near 1
    assert_allclose(one_step(module, x, h, c), printed, rtol=0, atol=1e-12 / after.std())


@given(seeds)
def test_eqs_29_to_31_are_the_variant_draw(seed: int) -> None:
    W_h, W_x, b, h, x, c, alpha, beta = draw(
        seed, (4 * H, H), (4 * H, D), (4 * H,), (H,), (D,), (H,), (H,), (H,)
    )
    f, i, o, g = eq.eq29(W_h, W_x, b, h, x)
    after = eq.eq30(f, i, g, c)
    module = fill(
        rnn.LSTM(D, H, variant="draw", eps=0.0, dtype=torch.float64),
        weight_hh=reorder(W_h),
        weight_ih=reorder(W_x),
        bias_ih=reorder(b),
        gain_cell=alpha,
        bias_cell=beta,
    )
    printed = [eq.eq31(o, after, alpha, beta), after]
    assert_allclose(one_step(module, x, h, c), printed, rtol=0, atol=1e-12 / after.std())


@given(seeds)
def test_eqs_23_to_25_are_torchs_gru_with_the_sign_of_z_turned(seed: int) -> None:
    W_h, W_x, W, U, h, x = draw(seed, (2 * H, H), (2 * H, D), (H, D), (H, H), (H,), (D,))
    z, r = eq.eq23(W_h, W_x, h, x)
    printed = eq.eq25(z, h, eq.eq24(W, U, r, h, x))
    module = torch.nn.GRU(D, H, dtype=torch.float64)
    for sign in (-1.0, 1.0):
        stacked = (np.concatenate([zr_to_rz(gates, sign), n]) for gates, n in ((W_h, U), (W_x, W)))
        fill(module, **dict(zip(("weight_hh", "weight_ih"), stacked, strict=True)))
        distance = np.abs(one_step(module, x, h)[0] - printed).max()
        # sums of 8 products of numbers near 1; with the sign as it is, another network
        assert distance < 1e-13 if sign < 0 else distance > 1e-3


@given(seeds)
def test_eqs_26_to_28_are_the_layer_normalized_gru(seed: int) -> None:
    W_h, W_x, W, U, h, x = draw(seed, (2 * H, H), (2 * H, D), (H, D), (H, H), (H,), (D,))
    alpha_1, beta_1, alpha_2, beta_2 = draw(seed + 100, *[(2 * H,)] * 4)
    alpha_3, beta_3, alpha_4, beta_4 = draw(seed + 200, *[(H,)] * 4)
    z, r = eq.eq26(W_h, W_x, h, x, alpha_1, beta_1, alpha_2, beta_2)
    printed = eq.eq28(z, h, eq.eq27(W, U, r, h, x, alpha_3, beta_3, alpha_4, beta_4))

    def stack(gates: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        return np.concatenate([zr_to_rz(gates), candidate])

    module = fill(
        rnn.GRU(D, H, eps=0.0, dtype=torch.float64),
        weight_hh=stack(W_h, U),
        weight_ih=stack(W_x, W),
        gain_hh=stack(alpha_1, alpha_4),
        bias_hh=stack(beta_1, beta_4),
        gain_ih=stack(alpha_2, alpha_3),
        bias_ih=stack(beta_2, beta_3),
    )
    smallest = min((W @ x).std(), (U @ h).std(), 1.0)
    assert_allclose(one_step(module, x, h)[0], printed, rtol=0, atol=1e-12 / smallest)


@given(seeds)
def test_started_as_printed_no_gate_of_an_lstm_or_a_gru_depends_on_the_input(seed: int) -> None:
    W_h, W_x, h, *inputs = draw(seed, (4 * H, H), (4 * H, D), (H,), (D,), (D,))
    zero, one = np.zeros(4 * H), np.ones(4 * H)
    for x in inputs:
        gates = eq.eq20(W_h, W_x, zero, h, x, zero, one, zero, one)
        assert all((gate == 2).all() for gate in gates)
        start = zero[: 2 * H], one[: 2 * H]
        assert all((v == 2).all() for v in eq.eq26(W_h[: 2 * H], W_x[: 2 * H], h, x, *start, *start))
        start = zero[:H], one[:H]
        assert np.ptp(eq.eq27(W_x[:H], W_h[:H], np.zeros(H), h, x, *start, *start)) == 0


def test_a_state_of_zeros_gives_nan_in_every_gate_that_normalizes_it() -> None:
    W_h, W_x, x = draw(0, (4 * H, H), (4 * H, D), (D,))
    zero, one, h = np.zeros(4 * H), np.ones(4 * H), np.zeros(H)
    with np.errstate(invalid="ignore"):
        assert np.isnan(eq.eq20(W_h, W_x, zero, h, x, one, zero, one, zero)).all()
        assert np.isnan(eq.eq22(h, h, one[:H], zero[:H])).all()
    assert np.isfinite(eq.eq29(W_h, W_x, zero, h, x)).all()  # DRAW normalizes the cell only
