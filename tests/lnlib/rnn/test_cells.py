"""Every variant of every network against a loop written from the equations, values and gradients."""

import copy
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import loops
import pytest
import torch
from networks import random_network
from paths import WAYS, Way
from torch import Tensor, nn
from torch.testing import assert_close

import lnlib
from lnlib.rnn.variants import VARIANTS, Variant

pytestmark = pytest.mark.grid

ROWS = [(kind, name) for kind, rows in VARIANTS.items() for name in rows]
every_row = pytest.mark.parametrize(("kind", "variant"), ROWS, ids=[" ".join(row) for row in ROWS])
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
EXACT = WAYS["plain double"].close
D, H, T, N = 3, 5, 6, 2


network = partial(random_network, (D, H))


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def state_of(kind: str, dtype: torch.dtype = torch.float64, rows: int = 1) -> tuple[Tensor, ...]:
    return tuple(draw(rows, N, H, dtype=dtype) for _ in range(2 if kind == "LSTM" else 1))


def parameters(module: Any, suffix: str = "_l0") -> dict[str, Tensor]:
    """One layer's parameters by their names without suffix; the biases it lacks are 0."""
    own = {name: p for name, p in module.named_parameters() if name.endswith(suffix)}
    p = {name.removesuffix(suffix): value for name, value in own.items()}
    rows, units = p["weight_ih"].new_zeros(len(p["weight_ih"])), p["weight_ih"].new_zeros(H)
    return {"bias_ih": rows, "bias_hh": rows, "bias_inner": rows, "bias_cell": units} | p


def run(module: Any, x: Any, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The output, then the state's tensors."""
    output, final = module(x, state if len(state) > 1 else state[0])
    return output, *(final if isinstance(final, tuple) else (final,))


Loop = Callable[[Any, Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def assert_is(way: Way, module: Any, loop: Loop, x: Tensor, state: tuple[Tensor, ...]) -> None:
    """The module's values and gradients are those of a loop in double precision, from the same numbers.

    A parameter on which nothing depends would be an error of its own: no allow_unused.
    """
    exact = copy.deepcopy(module).double()
    exact_x, *exact_state = (t.detach().double().requires_grad_() for t in (x, *state))
    expected = loop(exact, exact_x, tuple(exact_state))
    directions = [torch.randn(t.shape, dtype=way.dtype) for t in expected]
    with way.path():
        found = run(module, x, state)
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


@every_way
@pytest.mark.parametrize("bias", [True, False], ids=["biases", "no biases"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@every_row
def test_a_variant_is_its_loop(kind: str, variant: str, norm: str, bias: bool, way: Way) -> None:
    # Nearly equal cells magnify roundings by 1/std at every step: 1/sqrt(eps) bounds that.
    eps = 1e-5 if variant == "released" else 0.01
    module = network(kind, way.dtype, norm=norm, variant=variant, eps=eps, bias=bias)
    loop = one_layer(loops.LOOPS[kind][variant], getattr(loops, norm)(eps))
    assert_is(way, module, loop, draw(T, N, D, dtype=way.dtype), state_of(kind, way.dtype))


@every_way
@every_row
def test_layers_and_directions_are_loops_over_loops(kind: str, variant: str, way: Way) -> None:
    def stacked(module: Any, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        finals = []
        for depth in range(2):
            sides = []
            for turned, suffix in enumerate((f"_l{depth}", f"_l{depth}_reverse")):
                seen, start = x.flip(0) if turned else x, (s[2 * depth + turned] for s in state)
                h, *last = loops.LOOPS[kind][variant](
                    seen, *start, parameters(module, suffix), loops.layer(1e-5)
                )
                sides.append(h.flip(0) if turned else h)
                finals.append(last)
            x = torch.cat(sides, -1)
        return x, *(torch.stack(s) for s in zip(*finals, strict=True))

    module = network(kind, way.dtype, variant=variant, num_layers=2, bidirectional=True)
    assert_is(way, module, stacked, draw(T, N, D, dtype=way.dtype), state_of(kind, way.dtype, rows=4))


@every_way
@pytest.mark.parametrize("variant", ["paper", "separate"])
def test_a_rectifier_may_stand_in_for_tanh(variant: str, way: Way) -> None:
    module = network("RNN", way.dtype, variant=variant, nonlinearity="relu")
    loop = one_layer(loops.LOOPS["RNN"][variant], loops.layer(1e-5), torch.relu)
    assert_is(way, module, loop, draw(T, N, D, dtype=way.dtype), state_of("RNN", way.dtype))


@every_way
@pytest.mark.parametrize("variant", list(VARIANTS["LSTM"]))
def test_a_projection_comes_after_the_normalized_cell(variant: str, way: Way) -> None:
    def one_step(module: Any, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        p = parameters(module)
        h, _, c = loops.LOOPS["LSTM"][variant](x, state[0][0], state[1][0], p, loops.layer(1e-5))
        projected = h @ p["weight_hr"].T
        return projected, projected, c.unsqueeze(0)

    module, dtype = network("LSTM", way.dtype, variant=variant, proj_size=2), way.dtype
    state = (draw(1, N, 2, dtype=dtype), draw(1, N, H, dtype=dtype))
    assert_is(way, module, one_step, draw(1, N, D, dtype=dtype), state)


@every_way
@pytest.mark.parametrize("kind", list(VARIANTS))
def test_weight_norm_is_torchs_network_of_normalized_rows(kind: str, way: Way) -> None:
    def torchs(module: Any, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        p = parameters(module)
        theirs = {f"{name}_l0": p[name] for name in ("bias_ih", "bias_hh")}
        for side in ("ih", "hh"):
            rows = nn.functional.normalize(p[f"weight_{side}"])
            theirs[f"weight_{side}_l0"] = p[f"gain_{side}"].unsqueeze(1) * rows
        call = (x, state if kind == "LSTM" else state[0])
        output, final = torch.func.functional_call(getattr(nn, kind)(D, H, dtype=x.dtype), theirs, call)
        return output, *(final if kind == "LSTM" else (final,))

    module = network(kind, way.dtype, norm="weight")
    assert_is(way, module, torchs, draw(T, N, D, dtype=way.dtype), state_of(kind, way.dtype))


# --- what tells them apart -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(VARIANTS))
def test_no_two_variants_are_one_function(kind: str) -> None:
    x = torch.randn(T, N, D, dtype=torch.float64)
    outputs = {name: network(kind, variant=name)(x)[0] for name in VARIANTS[kind] if name != "released"}
    for a, b in combinations(outputs, 2):
        same = {a, b} == {"paper", "joint"} and kind == "RNN"  # Eq. (4) is the paper's RNN
        assert torch.equal(outputs[a], outputs[b]) if same else (outputs[a] - outputs[b]).abs().max() > 0.05


ADDED = {
    ("RNN", "paper"): "gain_ih",
    ("RNN", "joint"): "gain_ih",
    ("RNN", "separate"): "gain_ih gain_hh",
    ("LSTM", "paper"): "gain_ih gain_hh gain_cell bias_cell",
    ("LSTM", "joint"): "gain_ih gain_cell bias_cell",
    ("LSTM", "draw"): "gain_cell bias_cell",
    ("LSTM", "released"): "gain_ih gain_hh bias_inner gain_cell bias_cell",
    ("LSTM", "per_gate"): "gain_ih gain_cell bias_cell",
    ("LSTM", "normalized_state"): "gain_ih gain_hh gain_cell bias_cell",
    ("LSTM", "rnmt"): "gain_ih gain_cell bias_cell",
    ("GRU", "paper"): "gain_ih gain_hh",
    ("GRU", "joint"): "gain_ih",
    ("GRU", "released"): "gain_ih gain_hh bias_inner",
    ("GRU", "per_gate"): "gain_ih gain_hh",
    ("GRU", "all_gates"): "gain_ih gain_hh",
}


@every_row
def test_a_variant_adds_the_parameters_it_uses(kind: str, variant: str) -> None:
    theirs = dict(getattr(nn, kind)(D, H).named_parameters())
    added = {
        name.removesuffix("_l0"): p
        for name, p in network(kind, variant=variant).named_parameters()
        if name not in theirs
    }
    assert set(added) == set(ADDED[kind, variant].split())
    for name, value in added.items():
        assert value.shape == ((H,) if name.endswith("cell") else (len(theirs["weight_ih_l0"]),))


@every_row
def test_gains_start_at_one_and_biases_at_zero(kind: str, variant: str) -> None:
    for name, value in getattr(lnlib, kind)(D, H, num_layers=2, variant=variant).named_parameters():
        if not name.startswith("weight"):
            assert (value == name.startswith("gain")).all(), name
        else:
            assert 0 < value.abs().max() <= H**-0.5


@pytest.mark.parametrize("kind", list(VARIANTS))
def test_weight_norm_starts_as_torchs_function(kind: str) -> None:
    torch.manual_seed(3)
    module = getattr(lnlib, kind)(D, H, norm="weight", dtype=torch.float64)
    plain = getattr(nn, kind)(D, H, dtype=torch.float64)
    plain.load_state_dict({name: value for name, value in module.state_dict().items() if "gain" not in name})
    x = torch.randn(T, N, D, dtype=torch.float64)
    assert_close(module(x)[0], plain(x)[0], **EXACT)
    plain.reset_parameters()
    module.load_torch(plain)
    assert_close(module(x)[0], plain(x)[0], **EXACT)


# Which networks see neither a factor on their weights nor a row vector added to all rows of a matrix. A bias
# inside the normalization tells one scale from another; DRAW's gates are not normalized at all.
SCALE_FREE = [row for row in ROWS if row[1] not in ("released", "draw")]


@every_row
def test_scaled_and_shifted_weights_are_seen_only_without_a_full_normalization(
    kind: str, variant: str
) -> None:
    row = Variant("separate", cell="output", inner_bias="input") if variant == "released" else variant
    module = network(kind, variant=row, eps=0.0)
    x = torch.randn(T, N, D, dtype=torch.float64)
    h = state_of(kind)
    before = run(module, x, h)[0]
    with torch.no_grad():
        module.weight_ih_l0.mul_(3.0)
        module.weight_hh_l0.mul_(3.0)
    if variant != "per_gate" and kind != "GRU":  # there each gate may even be shifted by itself
        with torch.no_grad():
            module.weight_hh_l0.add_(torch.randn(H, dtype=torch.float64))
    change = (run(module, x, h)[0] - before).abs().max()
    # Exact in the reals; the shift costs a factor |mean|/std of a few in roundings.
    assert change < 1e-11 if (kind, variant) in SCALE_FREE else change > 0.05


# --- a variant of one's own ----------------------------------------------------------------------


@every_way
def test_a_bias_inside_both_projections_and_an_unbiased_variance_are_settings(way: Way) -> None:
    def n(a: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return gain * (a - a.mean(-1, keepdim=True)) / torch.sqrt(a.var(-1, keepdim=True) + 1e-3) + bias

    def loop(x: Tensor, h: Tensor, c: Tensor, p: dict[str, Tensor], n: Callable) -> tuple[Tensor, ...]:
        def gates(x: Tensor, h: Tensor) -> Tensor:
            own = n(x @ p["weight_ih"].T + p["bias_inner"], p["gain_ih"], p["bias_ih"])
            return own + n(h @ p["weight_hh"].T + p["bias_inner_hh"], p["gain_hh"], p["bias_hh"])

        return loops.lstm(x, h, c, gates, lambda c: n(c, p["gain_cell"], p["bias_cell"]), carried=True)

    row = Variant("separate", cell="carried", inner_bias="both", unbiased=True)
    module = network("LSTM", way.dtype, variant=row, eps=1e-3)
    assert_is(way, module, one_layer(loop, n), draw(T, N, D, dtype=way.dtype), state_of("LSTM", way.dtype))


@every_way
@pytest.mark.parametrize("per_gate", [False, True], ids=["all gates", "per gate"])
def test_a_bias_inside_the_normalization_of_the_sum_is_a_setting(per_gate: bool, way: Way) -> None:
    def loop(x: Tensor, h: Tensor, c: Tensor, p: dict[str, Tensor], n: Callable) -> tuple[Tensor, ...]:
        def gates(x: Tensor, h: Tensor) -> Tensor:
            a = x @ p["weight_ih"].T + h @ p["weight_hh"].T + p["bias_inner"]
            return n(a, p["gain_ih"], p["bias_ih"] + p["bias_hh"])

        return loops.lstm(x, h, c, gates, lambda c: c)

    n = loops.layer(1e-5)
    module = network("LSTM", way.dtype, variant=Variant("joint", per_gate=per_gate, inner_bias="input"))
    chosen = one_layer(loop, loops.each(n, 4) if per_gate else n)
    assert_is(way, module, chosen, draw(T, N, D, dtype=way.dtype), state_of("LSTM", way.dtype))


@pytest.mark.parametrize(("gates", "per_gate"), [("joint", False), ("none", False), ("separate", True)])
def test_all_gates_share_statistics_of_separate_projections_only(gates: str, per_gate: bool) -> None:
    with pytest.raises(ValueError, match=f"gates is '{gates}' with per_gate={per_gate}; take gates='sep"):
        Variant(gates, per_gate=per_gate, all_gates=True)


@pytest.mark.usefixtures("as_users_call")
def test_one_unit_has_no_unbiased_variance() -> None:
    module = lnlib.LSTM(3, 1, variant=Variant("separate", cell="output", unbiased=True))
    with pytest.raises(ValueError, match="the unbiased variance of 1 unit divides by 0"):
        module(torch.zeros(2, 1, 3))
