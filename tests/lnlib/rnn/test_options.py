"""The options of the recurrent networks: what each does to one step, to a sequence; and what is refused."""

import copy
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from networks import as_hx, draw, every_kind, random_network, states
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.nn.utils.rnn import PackedSequence, pack_sequence, unpack_sequence
from torch.testing import assert_close

from lnlib.rnn import GRU, LSTM, RNN
from lnlib.rnn.variants import Variant

# Numbers of size 1 after some dozen steps: each adds a few roundings of 1e-16.
EXACT = {"rtol": 1e-13, "atol": 1e-13}
# Products of fewer rows, and gradients summed chunk by chunk, round differently.
RECOMPUTED = {"rtol": 1e-12, "atol": 1e-13}


def by_luck(share: Tensor, rate: float) -> bool:
    """Whether so many of 2,000 coins may fall this way: within five standard deviations."""
    return abs(float(share.double().mean()) - rate) < 5 * math.sqrt(rate * (1 - rate) / share.numel())


@every_kind
def test_zoneout_keeps_old_values_as_often_as_it_says(kind: str) -> None:
    rates = (0.2, 0.4) if kind == "LSTM" else (0.2, 0.0)
    module, plain = (random_network((3, 50), kind, zoneout=z) for z in (rates, 0.0))
    x, old = draw(1, 40, 3), tuple(draw(1, 40, 50, seed=s) for s in (2, 3)[: 2 if kind == "LSTM" else 1])
    new, zoned = states(plain(x, as_hx(old))[1]), states(module(x, as_hx(old))[1])
    for o, n, z, rate in zip(old, new, zoned, rates, strict=False):
        kept = z == o
        assert torch.equal(z, torch.where(kept, o, n))
        assert by_luck(kept, rate)
    for o, n, z, rate in zip(old, new, states(module.eval()(x, as_hx(old))[1]), rates, strict=False):
        assert_close(z, rate * o + (1 - rate) * n, **EXACT)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_dropout_drops_candidates_and_never_memory(kind: str) -> None:
    rate, x = 0.3, draw(1, 40, 3)
    module, plain = (random_network((3, 50), kind, recurrent_dropout=r) for r in (rate, 0.0))
    calm = copy.deepcopy(module).eval()
    assert torch.equal(calm(x)[0], plain(x)[0])
    noisy, still = (states(m(x)[1])[-1] for m in (module, calm))
    dropped = noisy == 0  # from a state of zeros, all there is comes from the candidate
    assert_close(noisy, still.masked_fill(dropped, 0.0) / (1 - rate), **EXACT)
    assert by_luck(dropped, rate)
    old = draw(1, 40, 50, seed=2)
    gated = module(x, (torch.zeros_like(old), old) if kind == "LSTM" else old)[1]
    assert (states(gated)[-1] != 0).all()


def test_recurrent_dropout_draws_anew_at_each_step() -> None:
    module = random_network((3, 50), "LSTM", recurrent_dropout=0.5)
    with torch.no_grad():
        module.bias_ih_l0[50:100] = -1e4  # forget everything: the cell is this step's candidate
    cells = module(draw(2, 1, 3), return_cells=True)[-1]
    assert not torch.equal(cells[0] == 0, cells[1] == 0)


@every_kind
def test_a_packed_batch_with_noise_runs_and_its_finished_sequences_stay(kind: str) -> None:
    options = {"num_layers": 2, "bidirectional": True, "zoneout": 0.3, "dropout": 0.3}
    module = random_network((3, 4), kind, **options)
    packed = pack_sequence([draw(n, 3, seed=n) for n in (2, 5, 3)], enforce_sorted=False)
    output, state = module(packed)
    last = [sequence[-1, :4] for sequence in unpack_sequence(output)]
    assert torch.equal(states(state)[0][2], torch.stack(last))


@pytest.mark.parametrize("options", [{}, {"variant": "normalized_state"}, {"proj_size": 2}], ids=str)
def test_the_cells_of_all_steps_are_those_of_single_steps(options: dict[str, Any]) -> None:
    module = random_network((3, 4), "LSTM", num_layers=2, **options)
    x, state, cells = draw(6, 2, 3), None, []
    for x_t in x:
        _, state = module(x_t.unsqueeze(0), state)
        cells.append(state[1][-1])
    output, (_, c), all_cells = module(x, return_cells=True)
    assert_close(all_cells, torch.stack(cells), **EXACT)
    assert torch.equal(all_cells[-1], c[-1])
    assert torch.equal(output, module(x)[0])


def test_an_option_that_is_assigned_to_counts_at_the_next_call() -> None:
    module, x = random_network((3, 4), "LSTM", num_layers=2), draw(5, 2, 3)
    start = as_hx(tuple(draw(2, 2, 4, seed=k) for k in (2, 3)))
    assert module.eval()(x, start)[0].abs().max() > 0
    module.zoneout = 1.0
    assert all(map(torch.equal, module(x, start)[1], start))
    with pytest.raises(ValueError, match="zoneout of h"):
        module.zoneout = 1.5


@pytest.mark.parametrize(
    "options", [{"zoneout": 0.1, "memory": "recompute"}, {"norm": "batch", "max_steps": 2}], ids=str
)
def test_no_value_is_read_so_that_no_gpu_is_waited_for(options: dict) -> None:
    module = LSTM(3, 4, bidirectional=True, device="meta", **options)
    output, _ = module(PackedSequence(torch.zeros(9, 3, device="meta"), torch.tensor([3, 2, 2, 2])))
    output.data.sum().backward()
    assert output.data.shape == (9, 8)


def results(module: Any, x: Any, **call: Any) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs, states and cells; the gradients of a sum of squares; what dropout draws next."""
    torch.manual_seed(7)
    output, state, *cells = module(x, **call)
    values = [getattr(v, "data", v) for v in (output, *cells)] + list(states(state))
    total = sum(v.square().sum() for v in values)
    return [*values, torch.rand(3)], list(torch.autograd.grad(total, list(module.parameters())))


@pytest.mark.parametrize("norm", ["layer", "weight", "batch", "none"])
@pytest.mark.parametrize("steps", [1, 2, 10])
@every_kind
def test_recomputing_changes_neither_values_nor_gradients_nor_draws(kind: str, norm: str, steps: int) -> None:
    options = {"norm": norm, "num_layers": 2, "bidirectional": True, "zoneout": 0.2, "dropout": 0.2}
    options |= {} if kind == "RNN" else {"recurrent_dropout": 0.2}
    options |= {"max_steps": 6} if norm == "batch" else {}
    save, recompute = (random_network((3, 4), kind, memory=m, **options) for m in ("save", "recompute"))
    sequences = [draw(n, 3, seed=k) for k, n in enumerate((steps, max(1, steps // 2), steps))]
    packed = pack_sequence(sequences, enforce_sorted=False)
    call = {"return_cells": True} if kind == "LSTM" else {}
    (kept, gradients), (again, other) = (results(m, packed, **call) for m in (save, recompute))
    assert_close(kept, again, **RECOMPUTED)
    assert torch.equal(kept[-1], again[-1])
    assert_close(gradients, other, **RECOMPUTED)
    counted = (dict(module.named_buffers()) for module in (save, recompute))
    assert_close(*counted, **RECOMPUTED)  # each batch once


def kept_for_backward(module: Any, x: Tensor) -> int:
    """Numbers that the graph of a call holds, each storage once."""
    storages: dict[int, int] = {}

    def remember(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes() // saved.element_size()
        return saved

    with torch.autograd.graph.saved_tensors_hooks(remember, lambda saved: saved):
        output, _ = module(x)
    assert output.requires_grad
    return sum(storages.values())


def test_recomputing_keeps_the_state_at_every_tenth_of_a_hundred_steps() -> None:
    save, recompute = (random_network((16, 32), "LSTM", memory=m) for m in ("save", "recompute"))
    x = draw(100, 8, 16)
    assert kept_for_backward(recompute, x) < kept_for_backward(save, x) / 5


X, UNBIASED = torch.zeros(5, 2, 3), Variant("separate", cell="output", unbiased=True)
REFUSED: list[tuple[Callable[[], Any], list[str]]] = [
    (lambda: LSTM(3, 4, norm="group"), ["norm is 'group'", "layer, rms, weight, batch, none"]),
    (lambda: LSTM(3, 4, variant="theano"), ["variant is 'theano'", "LSTM has paper"]),
    (lambda: LSTM(3, 4, eps=-1.0), ["eps is -1.0", ">= 0"]),
    (lambda: LSTM(3, 4, forget_bias=math.inf), ["forget_bias", "finite", "inf"]),
    (lambda: GRU(3, 4, forget_bias=1.0), ["forget_bias is 1.0", "GRU"]),
    (lambda: LSTM(3, 4, bias=False, forget_bias=1.0), ["forget_bias is 1.0", "use bias=True"]),
    (lambda: LSTM(3, 4, zoneout=1.5), ["zoneout of h", "from 0 to 1", "1.5"]),
    (lambda: LSTM(3, 4, zoneout=(0.1, -0.1)), ["zoneout of c", "from 0 to 1", "-0.1"]),
    (lambda: LSTM(3, 4, zoneout=(0.1, 0.1, 0.1)), ["zoneout is one probability", "(0.1, 0.1, 0.1)"]),
    (lambda: GRU(3, 4, zoneout=(0.1, 0.1)), ["zoneout of c is 0.1", "GRU has no cell"]),
    (lambda: LSTM(3, 4, recurrent_dropout=1.0), ["recurrent_dropout", "below 1", "1.0"]),
    (lambda: RNN(3, 4, recurrent_dropout=0.1), ["recurrent_dropout is 0.1", "RNN"]),
    (lambda: LSTM(3, 4, memory="disk"), ["memory is 'disk'", "save, recompute"]),
    (lambda: LSTM(3, 4, norm="batch"), ["max_steps is None", "longest training sequence"]),
    (lambda: LSTM(3, 4, norm="batch", max_steps=2.0), ["max_steps is 2.0", "whole number"]),
    (lambda: LSTM(3, 4, max_steps=2), ["max_steps is 2", "norm is 'layer'"]),
    (lambda: LSTM(3, 4, norm="batch", max_steps=2, momentum=2.0), ["momentum", "from 0 to 1", "2.0"]),
    (lambda: GRU(3, 4)(X, return_cells=True), ["LSTM's cells", "GRU"]),
    (lambda: GRU(3, 4, norm="batch", max_steps=2)(X[:, 0]), ["step 0", "1 of 1", "evaluation mode"]),
    (lambda: LSTM(3, 1, variant=UNBIASED)(X), ["the unbiased variance of 1 unit divides by 0"]),
    (lambda: LSTM(3, 4).load_torch(nn.LSTM(3, 4, 2)), ["differ in", "num_layers", "build both alike"]),
    (lambda: LSTM(3, 4).load_torch(nn.Linear(3, 4)), ["module is a Linear; give a torch.nn.RNN"]),
    (
        lambda: prune.identity(LSTM(3, 4), "weight_hh_l0").load_torch(nn.LSTM(3, 4)),
        ["weight_hh_l0", "pruned"],
    ),
]


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[" ".join(words) for _, words in REFUSED])
def test_what_cannot_be_is_refused_in_words(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises((TypeError, ValueError), match=".*".join(re.escape(word) for word in words)):
        call()
