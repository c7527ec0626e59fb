"""The options of the recurrent networks: what each does to one step, to a sequence, and to gradients."""

import copy
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence, unpack_sequence
from torch.testing import assert_close

from lnlib.rnn import GRU, LSTM, RNN

F64 = {"dtype": torch.float64}
# Numbers of size 1 after some dozen steps: each adds a few roundings of 1e-16.
EXACT = {"rtol": 1e-13, "atol": 1e-13}
KINDS = {"RNN": RNN, "LSTM": LSTM, "GRU": GRU}
every_kind = pytest.mark.parametrize("kind", KINDS)
as_users_call = pytest.mark.usefixtures("as_users_call")


def network(kind: str, *sizes: int, seed: int = 0, **options: Any) -> Any:
    """A network in float64 whose parameters are all random, so that none drops out of a comparison."""
    torch.manual_seed(seed)
    module = KINDS[kind](*sizes, **F64, **options)
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.add_(0.3 * torch.randn_like(value)) if not name.startswith("weight") else value.mul_(2)
    return module


def draw(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), **F64)


def parts(state: Any) -> tuple[Tensor, ...]:
    """h, or h and c."""
    return state if isinstance(state, tuple) else (state,)


@every_kind
def test_options_that_are_off_change_no_bit(kind: str) -> None:
    off = {"zoneout": 0.0, "variational_dropout": 0.0, "recurrent_dropout": 0.0, "forget_bias": 0.0}
    torch.manual_seed(0)
    plain = KINDS[kind](3, 4)
    torch.manual_seed(0)
    options = KINDS[kind](3, 4, **off, learn_initial_state=False, memory="save")
    x = draw(5, 2, 3).float()
    assert torch.equal(plain(x)[0], options(x)[0])
    assert plain.state_dict().keys() == options.state_dict().keys()
    assert repr(plain) == repr(options)


def test_the_options_that_are_on_are_shown() -> None:
    shown = repr(LSTM(3, 4, zoneout=(0.1, 0.2), forget_bias=1.0, memory="recompute"))
    assert shown == "LSTM(3, 4, norm=layer, forget_bias=1.0, zoneout=(0.1, 0.2), memory=recompute)"


# --- at the start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["layer", "rms", "none", "weight"])
def test_the_forget_gate_starts_with_its_bias_and_nothing_else_changes(norm: str) -> None:
    torch.manual_seed(0)
    plain = LSTM(3, 4, 2, bidirectional=True, norm=norm)
    torch.manual_seed(0)
    open_gate = LSTM(3, 4, 2, bidirectional=True, norm=norm, forget_bias=1.5)
    for (name, before), after in zip(plain.named_parameters(), open_gate.parameters(), strict=True):
        added = torch.zeros_like(before)
        if name.startswith("bias_ih"):
            added[4:8] = 1.5  # torch's order is i, f, g, o
        assert torch.equal(after, before + added)


@every_kind
def test_a_learned_initial_state_is_the_hx_of_every_sequence(kind: str) -> None:
    proj = {"proj_size": 2} if kind == "LSTM" else {}
    module = network(kind, 3, 4, 2, bidirectional=True, learn_initial_state=True, **proj)
    x = draw(5, 2, 3)
    names = [f"l{layer}{direction}" for layer in range(2) for direction in ("", "_reverse")]
    learned = [
        torch.stack([getattr(module, f"initial_{k}_{name}") for name in names]).unsqueeze(1).expand(-1, 2, -1)
        for k in ("h", "c")[: 2 if kind == "LSTM" else 1]
    ]
    given = module(x, tuple(learned) if kind == "LSTM" else learned[0])[0]
    assert torch.equal(module(x)[0], given)
    module(x)[0].sum().backward()
    assert all(p.grad.abs().sum() > 0 for name, p in module.named_parameters() if "initial" in name)


@every_kind
def test_a_new_networks_initial_state_is_torchs_zeros(kind: str) -> None:
    module = KINDS[kind](3, 4, learn_initial_state=True)
    assert all((p == 0).all() for name, p in module.named_parameters() if "initial" in name)


# --- noise ----------------------------------------------------------------------------------------------


@every_kind
def test_zoneout_keeps_old_values_as_often_as_it_says(kind: str) -> None:
    rates = (0.2, 0.4) if kind == "LSTM" else (0.2, 0.0)
    module = network(kind, 3, 50, zoneout=rates)
    plain = KINDS[kind](3, 50, **F64)
    plain.load_state_dict(module.state_dict())
    x, old = draw(1, 40, 3), [draw(1, 40, 50, seed=s) for s in (2, 3)[: 2 if kind == "LSTM" else 1]]
    hx = tuple(old) if kind == "LSTM" else old[0]
    new, zoned = parts(plain(x, hx)[1]), parts(module(x, hx)[1])
    for o, n, z, rate in zip(old, new, zoned, rates, strict=False):
        kept = z == o
        assert torch.equal(z, torch.where(kept, o, n))
        # a share of 2,000 coins; five standard deviations
        assert abs(kept.double().mean() - rate) < 5 * math.sqrt(rate * (1 - rate) / 2000)
    for o, n, z, rate in zip(old, new, parts(module.eval()(x, hx)[1]), rates, strict=False):
        assert_close(z, rate * o + (1 - rate) * n, **EXACT)


@every_kind
@pytest.mark.parametrize("training", [True, False])
def test_zoneout_of_one_never_changes_the_state(kind: str, training: bool) -> None:
    module = network(kind, 3, 4, 2, zoneout=1.0).train(training)
    hx = tuple(draw(2, 2, 4, seed=s) for s in (2, 3)[: 2 if kind == "LSTM" else 1])
    output, state = module(draw(6, 2, 3), hx if kind == "LSTM" else hx[0])
    assert torch.equal(output, hx[0][1].expand(6, -1, -1))
    assert all(map(torch.equal, parts(state), hx))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_dropout_drops_candidates_and_never_memory(kind: str) -> None:
    rate = 0.3
    module = network(kind, 3, 50, recurrent_dropout=rate)
    x = draw(1, 40, 3)
    noisy, calm = (parts(m(x)[1])[-1] for m in (module, copy.deepcopy(module).eval()))
    dropped = noisy == 0  # from a state of zeros, all there is comes from the candidate
    assert_close(noisy, calm.masked_fill(dropped, 0.0) / (1 - rate), **EXACT)
    assert abs(dropped.double().mean() - rate) < 5 * math.sqrt(rate * (1 - rate) / 2000)
    old = draw(1, 40, 50, seed=2)
    zeros = torch.zeros_like(old)
    gated = module(x, (zeros, old) if kind == "LSTM" else old)[1]
    assert (parts(gated)[-1] != 0).all()


def test_recurrent_dropout_draws_anew_at_each_step() -> None:
    module = network("LSTM", 3, 50, recurrent_dropout=0.5)
    with torch.no_grad():
        module.bias_ih_l0[50:100] = -1e4  # forget everything: the cell is this step's candidate
    cells = module(draw(2, 1, 3), return_cells=True)[-1]
    assert not torch.equal(cells[0] == 0, cells[1] == 0)


def test_variational_dropout_has_one_mask_a_sequence() -> None:
    rate = 0.4
    module = RNN(30, 30, bias=False, nonlinearity="relu", norm="none", variational_dropout=rate, **F64)
    with torch.no_grad():
        module.weight_ih_l0.copy_(torch.eye(30))
        module.weight_hh_l0.zero_()
    x = draw(4, 20, 30).abs()
    output = module(x)[0]
    mask = output != 0
    assert torch.equal(mask, mask[:1].expand(4, -1, -1))
    assert len(mask[0].unique(dim=0)) == 20
    assert_close(output, x * mask / (1 - rate), **EXACT)
    with torch.no_grad():
        module.weight_ih_l0.zero_()
        module.weight_hh_l0.copy_(torch.eye(30))
    hx = draw(1, 20, 30, seed=2).abs()
    output = module(x, hx)[0]
    mask = output[0] != 0
    grown = torch.stack([hx[0] * mask / (1 - rate) ** t for t in range(1, 5)])
    assert_close(output, grown, rtol=1e-12, atol=0)  # four products
    assert abs(mask.double().mean() - (1 - rate)) < 5 * math.sqrt(rate * (1 - rate) / 600)


def test_variational_dropout_leaves_what_a_gate_keeps() -> None:
    module = network("GRU", 3, 20, variational_dropout=0.5)
    with torch.no_grad():
        module.bias_ih_l0[20:40] = -1e4  # the paper's update gate lets nothing in
    hx = draw(1, 2, 20)
    assert torch.equal(module(draw(5, 2, 3), hx)[1], hx)


@every_kind
def test_evaluation_has_no_noise(kind: str) -> None:
    noise = {"variational_dropout": 0.5} | ({} if kind == "RNN" else {"recurrent_dropout": 0.5})
    module, x = network(kind, 3, 4, 2, dropout=0.5, **noise).eval(), draw(5, 2, 3)
    plain = KINDS[kind](3, 4, 2, **F64)
    plain.load_state_dict(module.state_dict())
    assert torch.equal(module(x)[0], plain(x)[0])


@every_kind
def test_a_packed_batch_with_noise_runs_and_its_finished_sequences_stay(kind: str) -> None:
    module = network(kind, 3, 4, 2, bidirectional=True, zoneout=0.3, variational_dropout=0.3, dropout=0.3)
    packed = pack_sequence([draw(n, 3, seed=n) for n in (2, 5, 3)], enforce_sorted=False)
    output, state = module(packed)
    last = [sequence[-1, :4] for sequence in unpack_sequence(output)]
    assert torch.equal(parts(state)[0][2], torch.stack(last))


# --- resets and cells -----------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    learned=st.booleans(),
    projected=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_reset_makes_two_sequences_of_one(
    kind: str,
    lengths: list[int],
    layers: int,
    bidirectional: bool,
    learned: bool,
    projected: bool,
    seed: int,
) -> None:
    options = {"proj_size": 2} if projected and kind == "LSTM" else {}
    module = network(
        kind, 3, 4, layers, bidirectional=bidirectional, learn_initial_state=learned, seed=seed, **options
    )
    generator = torch.Generator().manual_seed(seed)
    sequences = [draw(n, 3, seed=n + seed) for n in lengths]
    marks = torch.rand(max(lengths), len(lengths), generator=generator) < 0.4
    output, state, *cells = module(
        pack_sequence(sequences, enforce_sorted=False), reset=marks, return_cells=kind == "LSTM"
    )
    for n, (sequence, got) in enumerate(zip(sequences, unpack_sequence(output), strict=True)):
        cuts = [t for t in range(1, len(sequence)) if marks[t, n]]
        pieces = sequence.tensor_split(cuts)
        runs = [module(piece, return_cells=kind == "LSTM") for piece in pieces]
        assert_close(got, torch.cat([run[0] for run in runs]), **EXACT)
        for c in cells:
            assert_close(unpack_sequence(c)[n], torch.cat([run[2] for run in runs]), **EXACT)
        for s, first, last in zip(parts(state), parts(runs[0][1]), parts(runs[-1][1]), strict=True):
            forward = slice(None, None, 1 + bidirectional)
            assert_close(s[forward, n], last[forward], **EXACT)
            assert_close(s[1::2, n], first[1::2], **EXACT) if bidirectional else None


@every_kind
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_mask_is_laid_out_as_the_input(kind: str, batch_first: bool) -> None:
    module = network(kind, 3, 4, batch_first=batch_first)
    x, marks = draw(5, 2, 3), torch.tensor([[0, 0], [1, 0], [0, 0], [0, 1], [0, 0]]).bool()
    single = [module(x[:, n], reset=marks[:, n])[0] for n in range(2)]
    whole = module(x.transpose(0, 1), reset=marks.T)[0] if batch_first else module(x, reset=marks)[0]
    assert_close(whole, torch.stack(single, 0 if batch_first else 1), **EXACT)


@every_kind
def test_a_reset_at_the_first_step_forgets_hx_but_not_backward(kind: str) -> None:
    module = network(kind, 3, 4, bidirectional=True)
    x, hx = draw(4, 2, 3), tuple(draw(2, 2, 4, seed=s) for s in (2, 3)[: 2 if kind == "LSTM" else 1])
    hx = hx if kind == "LSTM" else hx[0]
    marks = torch.zeros(4, 2, dtype=torch.bool)
    marks[0] = True
    reset, without, given = module(x, hx, reset=marks)[0], module(x)[0], module(x, hx)[0]
    assert torch.equal(reset[..., :4], without[..., :4])
    assert torch.equal(reset[..., 4:], given[..., 4:])


@pytest.mark.parametrize("variant", ["paper", "normalized_state"])
def test_the_cells_of_all_steps_are_those_of_single_steps(variant: str) -> None:
    module = network("LSTM", 3, 4, 2, variant=variant)
    x, state, cells = draw(6, 2, 3), None, []
    for x_t in x:
        _, state = module(x_t.unsqueeze(0), state)
        cells.append(state[1][-1])
    output, (_, c), all_cells = module(x, return_cells=True)
    assert_close(all_cells, torch.stack(cells), **EXACT)
    assert torch.equal(all_cells[-1], c[-1])
    assert torch.equal(output, module(x)[0])


def test_cells_have_the_hidden_size_also_where_outputs_are_projected() -> None:
    module = network("LSTM", 3, 4, 2, proj_size=2, bidirectional=True, batch_first=True)
    output, _, cells = module(draw(2, 6, 3), return_cells=True)
    assert (output.shape, cells.shape) == ((2, 6, 4), (2, 6, 8))


# --- gradients ------------------------------------------------------------------------------------------

NOISE = {
    "zoneout": {"zoneout": 0.4},
    "variational": {"variational_dropout": 0.4},
    "recurrent": {"recurrent_dropout": 0.4},
    "initial": {"learn_initial_state": True},
    "all": {
        "zoneout": (0.3, 0.2),
        "variational_dropout": 0.3,
        "recurrent_dropout": 0.3,
        "dropout": 0.3,
        "learn_initial_state": True,
        "memory": "recompute",
    },
}


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("name", [*NOISE, "all in evaluation"])
def test_gradients_are_those_of_finite_differences(kind: str, name: str) -> None:
    options = NOISE[name.removesuffix(" in evaluation")]
    if name.startswith("all") and kind == "GRU":
        options = options | {"zoneout": 0.3}
    layers = 2 if "dropout" in options else 1
    module = network(kind, 2, 3, layers, bidirectional=True, **options).train("evaluation" not in name)
    names = [name for name, _ in module.named_parameters()]
    sequences = [draw(n, 2, seed=n) for n in (3, 2)]
    marks = torch.tensor([[0, 0], [0, 1], [1, 0]]).bool()

    def run(*values: Tensor) -> tuple[Tensor, ...]:
        torch.manual_seed(0)  # the same masks each time
        packed = pack_sequence(list(values[:2]))
        output, state = torch.func.functional_call(
            module, dict(zip(names, values[2:], strict=True)), (packed,), {"reset": marks}
        )
        return output.data, *parts(state)

    leaves = [*sequences, *(p.detach().clone() for p in module.parameters())]
    for leaf in leaves:
        leaf.requires_grad_()
    # fast mode: one random direction instead of each entry
    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)


# --- anywhere -------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    "options",
    [
        {"zoneout": 0.1, "variational_dropout": 0.1, "learn_initial_state": True, "memory": "recompute"},
        {"norm": "batch", "max_steps": 2},
        {"norm": "weight"},
        {"norm": "none"},
    ],
    ids=str,
)
def test_no_value_is_read_so_that_no_gpu_is_waited_for(kind: str, options: dict) -> None:
    module = KINDS[kind](3, 4, 2, bidirectional=True, device="meta", **options)
    marks = None if "max_steps" in options else torch.zeros(4, 3, dtype=torch.bool, device="meta")
    packed = PackedSequence(torch.zeros(9, 3, device="meta"), torch.tensor([3, 2, 2, 2]))
    output, _ = module(packed, reset=marks)
    output.data.sum().backward()
    assert output.data.shape == (9, 8)
    assert module(torch.zeros(4, 3, 3, device="meta"), reset=marks)[0].shape == (4, 3, 8)


@every_kind
def test_evaluation_streams_with_all_options(kind: str) -> None:
    noise = {} if kind == "RNN" else {"recurrent_dropout": 0.2}
    module = network(kind, 3, 4, 2, zoneout=0.3, variational_dropout=0.2, learn_initial_state=True, **noise)
    x, marks = draw(6, 2, 3), torch.rand(6, 2, generator=torch.Generator().manual_seed(0)) < 0.4
    module.eval()
    state, outputs = None, []
    for x_t, marks_t in zip(x.split(1), marks.split(1), strict=True):
        output, state = module(x_t, state, reset=marks_t)
        outputs.append(output)
    whole, last = module(x, reset=marks)
    assert_close(torch.cat(outputs), whole, **EXACT)
    assert_close(state, last, **EXACT)


# --- refusals -------------------------------------------------------------------------------------------


@as_users_call
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LSTM(3, 4, norm="group"), ["norm is 'group'", "layer, rms, weight, batch, none"]),
        (lambda: LSTM(3, 4, eps=-1.0), ["eps is -1.0", ">= 0"]),
        (lambda: LSTM(3, 4, eps=math.nan), ["eps is nan", ">= 0"]),
        (lambda: LSTM(3, 4, forget_bias=math.inf), ["forget_bias", "finite", "inf"]),
        (lambda: LSTM(3, 4, forget_bias="1"), ["forget_bias", "finite", "'1'"]),
        (lambda: GRU(3, 4, forget_bias=1.0), ["forget_bias is 1.0", "GRU", "leave it at 0"]),
        (lambda: LSTM(3, 4, bias=False, forget_bias=1.0), ["forget_bias is 1.0", "use bias=True"]),
        (lambda: LSTM(3, 4, zoneout=1.5), ["zoneout of h", "from 0 to 1", "1.5"]),
        (lambda: LSTM(3, 4, zoneout=(0.1, -0.1)), ["zoneout of c", "from 0 to 1", "-0.1"]),
        (lambda: LSTM(3, 4, zoneout=(0.1, 0.1, 0.1)), ["zoneout is one probability", "(0.1, 0.1, 0.1)"]),
        (lambda: LSTM(3, 4, zoneout=True), ["zoneout of h", "True"]),
        (lambda: GRU(3, 4, zoneout=(0.1, 0.1)), ["zoneout of c is 0.1", "GRU has no cell", "(h, 0)"]),
        (lambda: LSTM(3, 4, recurrent_dropout=1.0), ["recurrent_dropout", "below 1", "1.0"]),
        (
            lambda: RNN(3, 4, recurrent_dropout=0.1),
            ["recurrent_dropout is 0.1", "RNN", "variational_dropout"],
        ),
        (lambda: LSTM(3, 4, variational_dropout=-0.1), ["variational_dropout", "below 1", "-0.1"]),
        (lambda: LSTM(3, 4, memory="disk"), ["memory is 'disk'", "save, recompute"]),
        (
            lambda: LSTM(3, 4)(torch.zeros(5, 2, 3), reset=torch.zeros(5, 2)),
            ["booleans", "(5, 2)", "float32"],
        ),
        (
            lambda: LSTM(3, 4)(torch.zeros(5, 2, 3), reset=torch.zeros(2, 5, dtype=torch.bool)),
            ["booleans of shape (5, 2)", "(2, 5)"],
        ),
        (lambda: GRU(3, 4)(torch.zeros(5, 2, 3), return_cells=True), ["LSTM's cells", "GRU"]),
    ],
)
def test_what_cannot_be_is_refused_in_words(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(ValueError, match=".*".join(re.escape(word) for word in words)):
        call()


def test_a_spec_is_made_once_and_anew_after_an_option_is_assigned_to() -> None:
    lstm = LSTM(3, 4, num_layers=2)
    first = lstm.spec
    lstm.eval()
    assert lstm.spec is first
    lstm.dropout, lstm.zoneout = 0.5, (0.1, 0.2)
    assert (lstm.spec.dropout, lstm.spec.zoneout) == (0.5, (0.1, 0.2))
    assert replace(lstm.spec, dropout=0.0, zoneout=()) == first
    with pytest.raises(AttributeError):
        lstm.spec = first
