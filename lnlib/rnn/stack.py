"""From layer to layer, both directions of each; and which code runs one of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.rnn import recurrence
from lnlib.rnn.backends import why_not_compiled
from lnlib.rnn.cells import Cell

__all__ = ["run_layers", "unroll"]

State = tuple[Tensor, ...]


def run_layers(
    cells: Sequence[Cell],
    x: Float[Tensor, "M D"],
    sizes: Sequence[int],
    state: tuple[Float[Tensor, "layers N _"], ...],
    *,
    bidirectional: bool,
    dropout: float,
    return_cells: bool,
    recompute: bool,
) -> tuple[State, State]:
    """Run all layers, laid out as for :func:`unroll`: outputs of the last, final states of all."""
    final: list[State] = []
    outputs: State = (x,)
    for first in range(0, len(cells), 1 + bidirectional):
        x = nn.functional.dropout(outputs[0], dropout if first else 0.0, cells[first].training)
        sides: list[State] = []
        for index in range(first, first + 1 + bidirectional):
            start = tuple(s[index] for s in state)
            out, last = unroll(cells[index], x, sizes, start, index > first, return_cells, recompute)
            sides.append(out)
            final.append(last)
        outputs = tuple(torch.cat(parts, -1) for parts in zip(*sides, strict=True)) if bidirectional else out
    return outputs, tuple(torch.stack(s) for s in zip(*final, strict=True))


def unroll(
    cell: Cell,
    x: Float[Tensor, "M D"],
    sizes: Sequence[int],
    state: tuple[Float[Tensor, "N _"], ...],
    reverse: bool = False,
    cells: bool = False,
    recompute: bool = False,
) -> tuple[tuple[Float[Tensor, "M _"], ...], tuple[Float[Tensor, "N _"], ...]]:
    """Run a cell over sequences sorted by length, as PackedSequence lays them out.

    Args:
        x: inputs of step 1, then of step 2, ...: M = sum of the sizes.
        sizes: how many sequences still run at each step, never increasing; padded batches have N, N, ...
        state: before the first step, (N, ...) each.
        reverse: each sequence from its own last step to its first.
        cells: return an LSTM's cells too.
        recompute: keep for the backward pass the state at every sqrt(T)-th step only.

    Returns:
        Outputs laid out as x, alone or with the cells; and the state after each sequence's last step.
    """
    if not sizes:
        return tuple(x.new_empty(0, s.shape[1]) for s in state[: 1 + cells]), state
    x = turn(x, sizes) if reverse else x
    outputs: State | None = None
    if not why_not_compiled(cell, x, state, cells):
        from lnlib.rnn import compiled  # brings numba, which takes half a second

        with suppress(compiled.OverflowInStatistics):  # the plain path scales such numbers first
            outputs, state = compiled.run(cell, x, sizes, state, recompute)
    if outputs is None:
        outputs, state = recurrence.run(cell, x, sizes, state, cells, recompute)
    return tuple(turn(out, sizes) for out in outputs) if reverse else outputs, state


def turn(x: Float[Tensor, "M _"], sizes: Sequence[int]) -> Float[Tensor, "M _"]:
    """Each sequence's steps in the opposite order; the order of the sequences stays.

    >>> turn(torch.tensor([[1.0], [10.0], [2.0], [20.0], [3.0]]), [2, 2, 1]).T
    tensor([[ 3., 20.,  2., 10.,  1.]])
    """
    if sizes[0] == sizes[-1]:
        return x.unflatten(0, (len(sizes), sizes[0])).flip(0).flatten(0, 1)
    before = [0, *accumulate(sizes)]  # rows of earlier steps
    lengths = [sum(size > n for size in sizes) for n in range(sizes[0])]
    rows = [before[lengths[n] - 1 - t] + n for t, size in enumerate(sizes) for n in range(size)]
    return x[torch.tensor(rows, device=x.device)]
