"""Every variant of every network against a loop written from the equations, values and gradients."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import loops
import pytest
import torch
from paths import PATHS
from torch import Tensor, nn
from torch.testing import assert_close

import lnlib
from lnlib.rnn.cells import VARIANTS, Variant

# The same arithmetic in another order: a few dozen roundings a step and 6 steps, in numbers of size 1 to 10;
# gradients pass 1/std of 4 or more numbers, which stays below 10 here.
EXACT = {"rtol": 1e-12, "atol": 1e-12}
ROWS = [(kind, name) for kind, rows in VARIANTS.items() for name in rows]
every_row = pytest.mark.parametrize(("kind", "variant"), ROWS, ids=[" ".join(row) for row in ROWS])
every_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
D, H, T, N = 3, 5, 6, 2


def network(kind: str, inputs: int = D, **options: Any) -> Any:
    """A network whose every parameter is random, and gains about 1."""
    torch.manual_seed(0)
    module = getattr(lnlib, kind)(inputs, H, dtype=torch.float64, **options)
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.copy_(torch.randn_like(value) * 0.6 + name.startswith("gain"))
    return module


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def state_of(kind: str, rows: int = 1) -> tuple[Tensor, ...]:
    return tuple(draw(rows, N, H) for _ in range(2 if kind == "LSTM" else 1))


def parameters(module: Any, suffix: str = "_l0") -> dict[str, Tensor]:
    """One layer's parameters by their names without suffix; the biases it lacks are 0."""
    own = {name: p for name, p in module.named_parameters() if name.endswith(suffix)}
    p = {name.removesuffix(suffix): value for name, value in own.items()}
    zeros = {
        name: p["weight_ih"].new_zeros(len(p["weight_ih"])) for name in ("bias_ih", "bias_hh", "bias_inner")
    }
    return zeros | {"bias_cell": p["weight_ih"].new_zeros(H)} | p


def run(module: Any, x: Any, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The output, then the state's tensors."""
    output, final = module(x, state if len(state) > 1 else state[0])
    return output, *(final if isinstance(final, tuple) else (final,))


def assert_same_gradients(
    found: tuple[Tensor, ...], expected: tuple[Tensor, ...], leaves: list[Tensor]
) -> None:
    directions = [torch.randn_like(t) for t in expected]
    # A gain or bias on which nothing depends would be a bug of its own: no allow_unused.
    mine, reference = (torch.autograd.grad(outputs, leaves, directions) for outputs in (found, expected))
    for a, b in zip(mine, reference, strict=True):
        assert_close(a, b, **EXACT)


@every_path
@pytest.mark.parametrize("bias", [True, False], ids=["biases", "no biases"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@every_row
def test_a_variant_is_its_loop(kind: str, variant: str, norm: str, bias: bool, path: Callable) -> None:
    eps = 1e-5 if variant == "released" else 1e-3
    module = network(kind, norm=norm, variant=variant, eps=eps, bias=bias)
    x, state = draw(T, N, D), state_of(kind)
    h, *rest = loops.LOOPS[kind][variant](
        x, *(s[0] for s in state), parameters(module), getattr(loops, norm)(eps)
    )
    expected = (h, *(s.unsqueeze(0) for s in rest))
    with path():
        found = run(module, x, state)
        for a, b in zip(found, expected, strict=True):
            assert_close(a, b, **EXACT)
        assert_same_gradients(found, expected, [x, *state, *module.parameters()])


@every_path
@every_row
def test_layers_and_directions_are_loops_over_loops(kind: str, variant: str, path: Callable) -> None:
    module = network(kind, variant=variant, num_layers=2, bidirectional=True)
    loop, n = loops.LOOPS[kind][variant], loops.layer(1e-5)
    x, state = draw(T, N, D), state_of(kind, rows=4)
    below: Tensor = x
    finals = []
    for depth in range(2):
        sides = []
        for turned, suffix in enumerate((f"_l{depth}", f"_l{depth}_reverse")):
            seen = below.flip(0) if turned else below
            h, *last = loop(seen, *(s[2 * depth + turned] for s in state), parameters(module, suffix), n)
            sides.append(h.flip(0) if turned else h)
            finals.append(last)
        below = torch.cat(sides, -1)
    expected = (below, *(torch.stack(s) for s in zip(*finals, strict=True)))
    with path():
        found = run(module, x, state)
        for a, b in zip(found, expected, strict=True):
            assert_close(a, b, **EXACT)
        assert_same_gradients(found, expected, [x, *state, *module.parameters()])


@every_path
@pytest.mark.parametrize("variant", ["paper", "separate"])
def test_a_rectifier_may_stand_in_for_tanh(variant: str, path: Callable) -> None:
    module = network("RNN", variant=variant, nonlinearity="relu")
    x, state = draw(T, N, D), state_of("RNN")
    h, last = loops.LOOPS["RNN"][variant](x, state[0][0], parameters(module), loops.layer(1e-5), torch.relu)
    with path():
        found = run(module, x, state)
        assert_close(found[0], h, **EXACT)
        assert_same_gradients(found, (h, last.unsqueeze(0)), [x, *state, *module.parameters()])


@every_path
@pytest.mark.parametrize("variant", list(VARIANTS["LSTM"]))
def test_a_projection_comes_after_the_normalized_cell(variant: str, path: Callable) -> None:
    module = network("LSTM", variant=variant, proj_size=2)
    x, state = draw(1, N, D), (draw(1, N, 2), draw(1, N, H))
    p = parameters(module)
    whole = loops.LOOPS["LSTM"][variant](x, state[0][0], state[1][0], p, loops.layer(module.eps))
    with path():
        found = run(module, x, state)
    assert_close(found[0], whole[0] @ p["weight_hr"].T, **EXACT)
    assert_close(found[2][0], whole[2], **EXACT)


@every_path
@pytest.mark.parametrize("kind", list(VARIANTS))
def test_weight_norm_is_torchs_network_of_normalized_rows(kind: str, path: Callable) -> None:
    module = network(kind, norm="weight")
    plain = getattr(nn, kind)(D, H, dtype=torch.float64)
    p = parameters(module)
    rows = {
        side: p[f"gain_{side}"][:, None] * nn.functional.normalize(p[f"weight_{side}"])
        for side in ("ih", "hh")
    }
    theirs = {f"weight_{side}_l0": row for side, row in rows.items()} | {
        f"bias_{side}_l0": p[f"bias_{side}"] for side in ("ih", "hh")
    }
    x, state = draw(T, N, D), state_of(kind)
    hx = state if kind == "LSTM" else state[0]
    output, final = torch.func.functional_call(plain, theirs, (x, hx))
    expected = (output, *(final if kind == "LSTM" else (final,)))
    with path():
        found = run(module, x, state)
        assert_close(found[0], output, **EXACT)
        assert_same_gradients(found, expected, [x, *state, *module.parameters()])


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
    ("GRU", "paper"): "gain_ih gain_hh",
    ("GRU", "joint"): "gain_ih",
    ("GRU", "released"): "gain_ih gain_hh bias_inner",
    ("GRU", "per_gate"): "gain_ih gain_hh",
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


@pytest.mark.parametrize(("kind", "variant"), ROWS, ids=[" ".join(row) for row in ROWS])
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


@every_path
def test_a_bias_inside_both_projections_and_an_unbiased_variance_are_settings(path: Callable) -> None:
    module = network(
        "LSTM", variant=Variant("separate", cell="carried", inner_bias="both", unbiased=True), eps=1e-3
    )
    p = parameters(module)

    def n(a: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return gain * (a - a.mean(-1, keepdim=True)) / torch.sqrt(a.var(-1, keepdim=True) + 1e-3) + bias

    def gates(x: Tensor, h: Tensor) -> Tensor:
        own = n(x @ p["weight_ih"].T + p["bias_inner"], p["gain_ih"], p["bias_ih"])
        return own + n(h @ p["weight_hh"].T + p["bias_inner_hh"], p["gain_hh"], p["bias_hh"])

    x, (h, c) = draw(T, N, D), state_of("LSTM")
    outputs, *last = loops.lstm(
        x, h[0], c[0], gates, lambda c: n(c, p["gain_cell"], p["bias_cell"]), carried=True
    )
    with path():
        found = run(module, x, (h, c))
        assert_close(found[0], outputs, **EXACT)
        assert_same_gradients(
            found, (outputs, *(s.unsqueeze(0) for s in last)), [x, h, c, *module.parameters()]
        )


@every_path
@pytest.mark.parametrize("per_gate", [False, True], ids=["all gates", "per gate"])
def test_a_bias_inside_the_normalization_of_the_sum_is_a_setting(per_gate: bool, path: Callable) -> None:
    module = network("LSTM", variant=Variant("joint", per_gate=per_gate, inner_bias="input"))
    p, n = parameters(module), loops.layer(1e-5)
    n = loops.each(n, 4) if per_gate else n

    def gates(x: Tensor, h: Tensor) -> Tensor:
        a = x @ p["weight_ih"].T + h @ p["weight_hh"].T + p["bias_inner"]
        return n(a, p["gain_ih"], p["bias_ih"] + p["bias_hh"])

    x, (h, c) = draw(T, N, D), state_of("LSTM")
    with path():
        assert_close(run(module, x, (h, c))[0], loops.lstm(x, h[0], c[0], gates, lambda c: c)[0], **EXACT)


@pytest.mark.usefixtures("as_users_call")
def test_one_unit_has_no_unbiased_variance() -> None:
    module = lnlib.LSTM(3, 1, variant=Variant("separate", cell="output", unbiased=True))
    with pytest.raises(ValueError, match="the unbiased variance of 1 unit divides by 0"):
        module(torch.zeros(2, 1, 3))
