"""Every variant of every network against a loop written from the equations, values and gradients."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import loops
import pytest
import torch
from networks import as_hx, draw, every_kind, random_network, start_of, states
from paths import WAYS, Way
from torch import Tensor, nn
from torch.testing import assert_close

import lnlib
from lnlib.rnn.variants import VARIANTS, Variant

VARIED = [(kind, name) for kind, rows in VARIANTS.items() for name in rows]
COMPILED = [(kind, name) for kind in ("LSTM", "GRU") for name in ("paper", "released")]
ROWS = [(*row, "plain double", norm) for row in VARIED for norm in ("layer", "rms", "batch")]
ROWS += [(*row, "chosen single", norm) for row in COMPILED for norm in ("layer", "rms")]
PLAIN = WAYS["plain double"]
D, H, T, N = 3, 5, 6, 3

network = partial(random_network, (D, H))


def parameters(module: Any) -> dict[str, Tensor]:
    """The layer's parameters by their names without suffix; the biases it lacks are 0."""
    p = {name.removesuffix("_l0"): value for name, value in module.named_parameters()}
    rows, units = p["weight_ih"].new_zeros(len(p["weight_ih"])), p["weight_ih"].new_zeros(H)
    return {"bias_ih": rows, "bias_hh": rows, "bias_inner": rows, "bias_cell": units} | p


Loop = Callable[[Any, Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def assert_is(way: Way, module: Any, loop: Loop, steps: int = T) -> None:
    """The module's values and gradients are those of a loop in double precision, from the same numbers.

    A parameter on which nothing depends would be an error of its own: no allow_unused.
    """
    x = draw(steps, N, D, dtype=way.dtype).requires_grad_()
    state = states(start_of(module, N, way.dtype))
    exact = copy.deepcopy(module).double()
    exact_x, *exact_state = (t.detach().double().requires_grad_() for t in (x, *state))
    expected = loop(exact, exact_x, tuple(exact_state))
    directions = [draw(*t.shape, seed=k, dtype=way.dtype) for k, t in enumerate(expected)]
    with way.path():
        output, final = module(x, as_hx(state))
        found = output, *states(final)
        mine = torch.autograd.grad(found, [x, *state, *module.parameters()], directions)
    leaves = [exact_x, *exact_state, *exact.parameters()]
    reference = torch.autograd.grad(expected, leaves, [d.double() for d in directions])
    for a, b in zip([*found, *mine], [*expected, *reference], strict=True):
        assert_close(a, b.to(way.dtype), **way.close)


def one_layer(loop: Callable, n: Callable, *more: Any) -> Loop:
    """A loop as a network of one layer, whose state has an axis for it."""

    def network(module: Any, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        h, *last = loop(x, *(s[0] for s in state), parameters(module), n, *more)
        return h, *(s.unsqueeze(0) for s in last)

    return network


@pytest.mark.parametrize(("kind", "variant", "way", "norm"), ROWS, ids=[" ".join(row) for row in ROWS])
def test_a_variant_is_its_loop(kind: str, variant: str, way: str, norm: str) -> None:
    # Nearly equal cells magnify roundings by 1/std at every step: 1/sqrt(eps) bounds that.
    eps = 1e-5 if variant == "released" else 0.01
    options = {"max_steps": T} if norm == "batch" else {"bias": norm == "layer"}
    module = network(kind, WAYS[way].dtype, norm=norm, variant=variant, eps=eps, **options)
    loop = one_layer(loops.LOOPS[kind][variant], getattr(loops, norm)(eps))
    assert_is(WAYS[way], module, loop)


def test_a_rectifier_may_stand_in_for_tanh() -> None:
    module = network("RNN", nonlinearity="relu")
    assert_is(PLAIN, module, one_layer(loops.LOOPS["RNN"]["paper"], loops.layer(1e-5), torch.relu))


@pytest.mark.parametrize("variant", ["paper", "normalized_state"])
def test_a_projection_comes_after_the_normalized_cell(variant: str) -> None:
    def one_step(module: Any, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        p = parameters(module)
        h, _, c = loops.LOOPS["LSTM"][variant](x, state[0][0], state[1][0], p, loops.layer(1e-5))
        projected = h @ p["weight_hr"].T
        return projected, projected, c.unsqueeze(0)

    assert_is(PLAIN, network("LSTM", variant=variant, proj_size=2), one_step, steps=1)


@every_kind
def test_weight_norm_is_torchs_network_of_normalized_rows(kind: str) -> None:
    def torchs(module: Any, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        p = parameters(module)
        theirs = {f"{name}_l0": p[name] for name in ("bias_ih", "bias_hh")}
        for side in ("ih", "hh"):
            rows = nn.functional.normalize(p[f"weight_{side}"])
            theirs[f"weight_{side}_l0"] = p[f"gain_{side}"].unsqueeze(1) * rows
        plain = getattr(nn, kind)(D, H, dtype=x.dtype)
        output, final = torch.func.functional_call(plain, theirs, (x, as_hx(state)))
        return output, *states(final)

    assert_is(PLAIN, network(kind, norm="weight"), torchs)


def test_a_bias_inside_both_projections_and_an_unbiased_variance_are_settings() -> None:
    def n(a: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return gain * (a - a.mean(-1, keepdim=True)) / torch.sqrt(a.var(-1, keepdim=True) + 1e-3) + bias

    def loop(x: Tensor, h: Tensor, c: Tensor, p: dict[str, Tensor], n: Callable) -> tuple[Tensor, ...]:
        def gates(x: Tensor, h: Tensor) -> Tensor:
            own = n(x @ p["weight_ih"].T + p["bias_inner"], p["gain_ih"], p["bias_ih"])
            return own + n(h @ p["weight_hh"].T + p["bias_inner_hh"], p["gain_hh"], p["bias_hh"])

        return loops.lstm(x, h, c, gates, lambda c: n(c, p["gain_cell"], p["bias_cell"]), "carried")

    row = Variant("separate", cell="carried", inner_bias="both", unbiased=True)
    assert_is(PLAIN, network("LSTM", variant=row, eps=1e-3), one_layer(loop, n))


def test_a_bias_inside_the_normalization_of_the_sum_is_a_setting() -> None:
    def loop(x: Tensor, h: Tensor, c: Tensor, p: dict[str, Tensor], n: Callable) -> tuple[Tensor, ...]:
        def gates(x: Tensor, h: Tensor) -> Tensor:
            a = x @ p["weight_ih"].T + h @ p["weight_hh"].T + p["bias_inner"]
            return n(a, p["gain_ih"], p["bias_ih"] + p["bias_hh"])

        return loops.lstm(x, h, c, gates, lambda c: c)

    module = network("LSTM", variant=Variant("joint", per_gate=True, inner_bias="input"))
    assert_is(PLAIN, module, one_layer(loop, loops.each(loops.layer(1e-5), 4)))


STARTS = [("RNN", {}), ("LSTM", {"variant": "released"}), ("GRU", {"norm": "rms"})]
STARTS += [("LSTM", {"forget_bias": 1.5}), ("LSTM", {"norm": "batch", "max_steps": 2})]


@pytest.mark.parametrize(("kind", "options"), STARTS, ids=str)
def test_weights_start_as_torchs_gains_at_one_and_biases_at_zero(kind: str, options: dict[str, Any]) -> None:
    module = getattr(lnlib, kind)(D, H, num_layers=2, bidirectional=True, **options)
    for name, value in module.named_parameters():
        if name.startswith("weight"):  # the only ones of two axes, by which trainers choose what decays
            assert value.ndim == 2
            assert 0 < value.abs().max() <= H**-0.5
            continue
        assert value.ndim == 1
        expected = torch.zeros_like(value)
        if name.startswith("gain"):
            expected += 0.1 if options.get("norm") == "batch" else 1.0
        if name.startswith("bias_ih") and "forget_bias" in options:
            expected[H : 2 * H] = 1.5  # torch's order is i, f, g, o
        assert torch.equal(value, expected), name


@every_kind
def test_weight_norm_starts_as_torchs_function(kind: str) -> None:
    module = getattr(lnlib, kind)(D, H, norm="weight", dtype=torch.float64)
    plain = getattr(nn, kind)(D, H, dtype=torch.float64)
    plain.load_state_dict({name: value for name, value in module.state_dict().items() if "gain" not in name})
    x = draw(T, N, D)
    assert_close(module(x)[0], plain(x)[0], **PLAIN.close)
    plain.reset_parameters()
    module.load_torch(plain)
    assert_close(module(x)[0], plain(x)[0], **PLAIN.close)
