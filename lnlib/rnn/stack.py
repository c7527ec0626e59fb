"""From layer to layer: what each reads, drops and hands on; both directions of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from lnlib.rnn.cells import Cell
from lnlib.rnn.recurrence import unroll
from lnlib.rnn.spec import NetworkSpec

__all__ = ["run_layers"]

State = tuple[Tensor, ...]


def run_layers(
    spec: NetworkSpec,
    cells: Sequence[Cell],
    x: Float[Tensor, "M D"],
    sizes: Sequence[int],
    state: tuple[Float[Tensor, "layers N _"], ...],
    reset: Bool[Tensor, "T N"] | None = None,
    return_cells: bool = False,
) -> tuple[State, State]:
    """Run all layers over sequences sorted by length, laid out as for :func:`lnlib.rnn.recurrence.unroll`.

    Returns:
        The last layer's outputs, alone or with its cells; and the last states of all layers.
    """
    final: list[State] = []
    sides: list[State] = []  # of one layer
    outputs: State = (x,)
    run = partial(unroll, reset=reset, cells=return_cells, recompute=spec.memory == "recompute")
    for index, cell in enumerate(cells):
        backward = index % (1 + spec.bidirectional) == 1
        if not backward:
            x = nn.functional.dropout(outputs[0], spec.dropout if index else 0.0, cell.training)
            sides = []
        seen, start = x, tuple(s[index] for s in state)
        if spec.variational_dropout and cell.training:
            cell, seen = mask_sequences(cell, x, sizes, start[0], spec.variational_dropout)
        out, last = run(cell, seen, sizes, start, backward)
        sides.append(out)
        final.append(last)
        if backward or not spec.bidirectional:
            both = zip(*sides, strict=True)
            outputs = tuple(torch.cat(parts, -1) for parts in both) if backward else sides[0]
    return outputs, tuple(torch.stack(s) for s in zip(*final, strict=True))


def mask_sequences(
    cell: Cell, x: Float[Tensor, "M D"], sizes: Sequence[int], h: Float[Tensor, "N R"], rate: float
) -> tuple[Cell, Float[Tensor, "M D"]]:
    """Drop entries of the inputs, and of the state on its way to the gates: one mask a sequence.

    *Source* Gal and Ghahramani, "A Theoretically Grounded Application of Dropout in RNNs" (2016).
    """
    mask = torch.dropout(x.new_ones(h.shape[0], x.shape[1]), rate, True)
    masked = [part * mask[: part.shape[0]] for part in x.split(list(sizes))]
    cell = replace(cell, keep=torch.dropout(torch.ones_like(h), rate, True))
    return cell, torch.cat(masked) if masked else x
