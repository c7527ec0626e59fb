"""The loop over time: keeping less for the backward pass."""

from typing import Any

import pytest
import torch
from networks import draw, every_kind, random_network, states
from torch import Tensor
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

# The same numbers; products of fewer rows, and gradients summed chunk by chunk, round differently.
EXACT = {"rtol": 1e-12, "atol": 1e-13}


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
    assert_close(kept, again, **EXACT)
    assert torch.equal(kept[-1], again[-1])
    assert_close(gradients, other, **EXACT)
    assert_close(
        dict(save.named_buffers()), dict(recompute.named_buffers()), **EXACT
    )  # each batch counts once


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
