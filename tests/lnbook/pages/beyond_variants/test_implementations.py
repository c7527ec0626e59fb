"""Thirteen public LSTMs: the settings in lnlib's table compute what each of them computes."""

import pytest
import torch
from paths import WAYS, Way
from theirs import THEIRS, P
from torch import Tensor
from torch.testing import assert_close

import lnlib
from lnbook.pages.beyond_variants.implementations import IMPLEMENTATIONS

D, H, T, N = 3, 6, 6, 4


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def in_our_order(rows: Tensor, order: str) -> Tensor:
    """Gates as torch has them, i, f, g, o; what is no gate's stays."""
    if len(rows) != 4 * H:
        return rows
    gates = dict(zip(order, rows.chunk(4), strict=True))
    return torch.cat([gates[gate] for gate in "ifgo"])


def drawn(name: str) -> P:
    return THEIRS[name].draw(D, H, torch.Generator().manual_seed(2))


def with_weights_of(name: str, p: P) -> lnlib.LSTM:
    """Our network of the table's settings with their parameters."""
    module = lnlib.LSTM(D, H, dtype=torch.float64, **IMPLEMENTATIONS[name].settings)
    values = {f"{ours}_l0": value for ours, value in THEIRS[name].as_ours(p).items()}
    state = {key: values.get(key, 0 * zero) for key, zero in module.state_dict().items()}
    state = {key: in_our_order(value, IMPLEMENTATIONS[name].order) for key, value in state.items()}
    if name in ("tf_contrib", "supercell"):
        state["bias_ih_l0"][H : 2 * H] += 1.0  # theirs is a constant
    module.load_state_dict(state)
    return module


INSIDE = ("b", "i2h_bias", "h2h_bias", "bias_ih", "bias_hh", "hidden_bias")  # biases before a normalization


def scaled(p: P, factor: float) -> P:
    """Smaller summed inputs: matrices, and the biases beside them."""
    small = {name for name, value in p.items() if value.dim() == 2 or name in INSIDE}
    return {name: factor * value if name in small else value for name, value in p.items()}


# At a hundredth, a variance is about 1e-4 and ε a part of the result; at 1 it hides among the digits.
@pytest.mark.parametrize("factor", [1.0, 0.01])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", [n for n, i in IMPLEMENTATIONS.items() if i.exact])
def test_the_settings_compute_what_they_compute(name: str, way: Way, factor: float) -> None:
    x, h, c, p = randn(T, N, D), randn(N, H, seed=2), randn(N, H, seed=3), scaled(drawn(name), factor)
    hs, last = THEIRS[name].loop(x, h, c, p)
    module, dtype = with_weights_of(name, p).to(way.dtype), way.dtype
    with way.path():
        output, (final_h, final_c) = module(x.to(dtype), (h[None].to(dtype), c[None].to(dtype)))
    for mine, theirs in ((output, hs), (final_h[0], hs[-1]), (final_c[0], last)):
        assert_close(mine, theirs.to(dtype), **way.close)


@pytest.mark.parametrize("name", THEIRS)
def test_a_new_network_starts_with_their_forget_bias(name: str) -> None:
    module = lnlib.LSTM(D, H, **IMPLEMENTATIONS[name].settings)
    expected = torch.zeros(4 * H)
    expected[H : 2 * H] = 1.0 if name in ("haste", "tf_addons", "tf_contrib", "supercell") else 0.0
    assert torch.equal(module.bias_ih_l0 + module.bias_hh_l0, expected)


def test_an_epsilon_outside_the_root_is_within_its_bound_of_ours() -> None:
    p, h, c = drawn("lua"), randn(N, H, seed=2), randn(N, H, seed=3)
    module = with_weights_of("lua", p)
    x = randn(1, N, D)
    theirs, cell = THEIRS["lua"].loop(x, h, c, p)
    difference = (module(x, (h[None], c[None]))[0] - theirs).abs()[0]
    std = cell.std(-1, correction=0, keepdim=True)
    # σ + e and sqrt(σ² + e²) differ by at most e; tanh and a gate do not enlarge what that changes.
    shown = (p["gain"] * (cell - cell.mean(-1, keepdim=True)) / std).abs()
    assert (difference <= shown * 1e-5 / std + 1e-15).all()
    assert difference.max() > 1e-8  # and it is there
    longer = randn(50, N, D)
    assert (module(longer)[0] - THEIRS["lua"].loop(longer, 0 * h, 0 * c, p)[0]).abs().max() < 1e-3
