"""The loop over time: turning sequences around, and keeping less for the backward pass."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

import lnlib.rnn.recurrence
from lnlib.rnn import GRU, LSTM, RNN
from lnlib.rnn.recurrence import turn, turn_marks

KINDS = {"RNN": RNN, "LSTM": LSTM, "GRU": GRU}
every_kind = pytest.mark.parametrize("kind", KINDS)
F64 = {"dtype": torch.float64}
# The same numbers; products of fewer rows, and gradients summed chunk by chunk, round differently.
EXACT = {"rtol": 1e-12, "atol": 1e-13}


@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=6))
def test_turning_is_turning_each_sequence(lengths: list[int]) -> None:
    sequences = [torch.randn(n, 2) for n in sorted(lengths, reverse=True)]
    packed = pack_sequence(sequences)
    sizes = packed.batch_sizes.tolist()
    assert torch.equal(turn(packed.data, sizes), pack_sequence([s.flip(0) for s in sequences]).data)
    assert torch.equal(turn(turn(packed.data, sizes), sizes), packed.data)


@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_turned_marks_cut_between_the_same_steps(lengths: list[int], seed: int) -> None:
    lengths = sorted(lengths, reverse=True)
    sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    marks = torch.rand(len(sizes), len(lengths), generator=torch.Generator().manual_seed(seed)) < 0.4
    turned = turn_marks(marks, sizes)
    for n, length in enumerate(lengths):
        cuts = {t for t in range(1, length) if marks[t, n]}
        assert {t for t in range(len(sizes)) if turned[t, n]} == {length - t for t in cuts}


def results(module: Any, x: Any, **call: Any) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs, states and cells; the gradients of a sum of squares; what dropout draws next."""
    torch.manual_seed(7)
    output, state, *cells = module(x, **call)
    values = [getattr(v, "data", v) for v in (output, *cells)] + list(
        state if isinstance(state, tuple) else [state]
    )
    total = sum(v.square().sum() for v in values)
    following = torch.rand(3)
    return [*values, following], list(torch.autograd.grad(total, list(module.parameters())))


@every_kind
@pytest.mark.parametrize("norm", ["layer", "rms", "weight", "none"])
@pytest.mark.parametrize("steps", [1, 2, 10])
def test_recomputing_changes_neither_values_nor_gradients_nor_draws(kind: str, norm: str, steps: int) -> None:
    noise = {"zoneout": 0.2, "variational_dropout": 0.2, "dropout": 0.2, "learn_initial_state": True}
    noise |= {} if kind == "RNN" else {"recurrent_dropout": 0.2}
    torch.manual_seed(0)
    save = KINDS[kind](3, 4, 2, bidirectional=True, norm=norm, **F64, **noise)
    recompute = KINDS[kind](3, 4, 2, bidirectional=True, norm=norm, memory="recompute", **F64, **noise)
    recompute.load_state_dict(save.state_dict())
    sequences = [torch.randn(n, 3, **F64) for n in (steps, max(1, steps // 2), steps)]
    call: dict[str, Any] = {"reset": torch.rand(steps, 3) < 0.3} | (
        {"return_cells": True} if kind == "LSTM" else {}
    )
    packed = pack_sequence(sequences, enforce_sorted=False)
    (kept, gradients), (again, other) = (results(m, packed, **call) for m in (save, recompute))
    assert_close(kept, again, **EXACT)
    assert torch.equal(kept[-1], again[-1])
    assert_close(gradients, other, **EXACT)


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


@every_kind
def test_recomputing_keeps_the_state_at_every_tenth_of_a_hundred_steps(kind: str) -> None:
    x = torch.randn(100, 8, 16, **F64)
    save, recompute = (KINDS[kind](16, 32, memory=m, **F64) for m in ("save", "recompute"))
    assert kept_for_backward(recompute, x) < kept_for_backward(save, x) / 5


def test_nothing_is_kept_to_be_recomputed_without_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = LSTM(3, 4, memory="recompute", **F64), torch.randn(9, 2, 3, **F64)
    chunks: list[int] = []
    whole = lnlib.rnn.recurrence._steps
    monkeypatch.setattr(lnlib.rnn.recurrence, "_steps", lambda *a: chunks.append(len(a[2])) or whole(*a))
    with torch.no_grad():
        module(x)
    assert chunks == [9]
    module(x)
    assert chunks == [9, 3, 3, 3]


def test_recomputed_networks_can_be_differentiated_twice() -> None:
    module, plain = (LSTM(2, 3, memory=m, **F64) for m in ("recompute", "save"))
    plain.load_state_dict(module.state_dict())
    x = torch.randn(5, 2, 2, **F64, requires_grad=True)
    second = []
    for m in (module, plain):
        (first,) = torch.autograd.grad(m(x)[0].square().sum(), x, create_graph=True)
        second.append(torch.autograd.grad(first.square().sum(), x)[0])
    assert_close(*second, **EXACT)
