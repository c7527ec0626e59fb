r"""The loop over time: one layer, one direction, all sequences of a batch, whatever their lengths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from math import isqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lnlib.rnn.backends import why_not_compiled
from lnlib.rnn.cells import Cell

__all__ = ["unroll"]

State = tuple[Tensor, ...]


def unroll(
    cell: Cell,
    x: Float[Tensor, "M D"],
    sizes: Sequence[int],
    state: tuple[Float[Tensor, "N _"], ...],
    reverse: bool = False,
    *,
    reset: Bool[Tensor, "T N"] | None = None,
    cells: bool = False,
    recompute: bool = False,
) -> tuple[tuple[Float[Tensor, "M _"], ...], tuple[Float[Tensor, "N _"], ...]]:
    """Run a cell over sequences sorted by length, as PackedSequence lays them out.

    Args:
        cell: the step and the projection of the inputs.
        x: inputs of step 1, then of step 2, ...: M = sum of the sizes.
        sizes: how many sequences still run at each step, never increasing; padded batches have N, N, ...
        state: before the first step, (N, ...) each.
        reverse: each sequence from its own last step to its first.
        reset: the steps at which a sequence begins anew, from its initial state.
        cells: return an LSTM's cells too.
        recompute: keep for the backward pass the state at every sqrt(T)-th step only.

    Returns:
        Outputs laid out as x, alone or with the cells; and the state after each sequence's last step.
    """
    if not sizes:
        return tuple(x.new_empty(0, s.shape[1]) for s in state[: 1 + cells]), state
    if reverse:
        x = turn(x, sizes)
        reset = None if reset is None else turn_marks(reset, sizes)
    outputs, state = _run(cell, x, sizes, state, reset, cells, recompute)
    return tuple(turn(out, sizes) for out in outputs) if reverse else outputs, state


def _run(
    cell: Cell,
    x: Tensor,
    sizes: Sequence[int],
    state: State,
    reset: Tensor | None,
    cells: bool,
    recompute: bool,
) -> tuple[State, State]:
    """All steps, on the compiled kernels where they apply."""
    if not why_not_compiled(cell, x, state, reset, cells):
        from lnlib.rnn import chunks, fused  # bring numba, which takes half a second

        try:
            return fused.run(cell, x, sizes, state, recompute, partial(_plain, sizes=sizes))
        except chunks.OverflowInStatistics:
            pass  # the plain path scales such numbers first
    return _plain(cell, x, state, sizes, reset, cells, recompute)


def _plain(
    cell: Cell,
    x: Tensor,
    state: State,
    sizes: Sequence[int],
    reset: Tensor | None = None,
    cells: bool = False,
    recompute: bool = False,
) -> tuple[State, State]:
    """All steps in torch's operations: any dtype and device, differentiable any number of times."""
    chunk = isqrt(len(sizes) - 1) + 1 if recompute and torch.is_grad_enabled() else len(sizes)
    starts = range(0, len(sizes), chunk)
    groups = [list(sizes[first : first + chunk]) for first in starts]
    parts: list[State] = []
    for first, group, inputs in zip(starts, groups, x.split([sum(g) for g in groups]), strict=True):
        marks = None if reset is None else reset[first : first + chunk]
        arguments = (cell, inputs, group, state, first, marks, cells)
        # Masks are drawn again as they were: checkpoint brings back the state of the generator.
        out, state = (
            checkpoint(_steps, *arguments, use_reentrant=False) if len(groups) > 1 else _steps(*arguments)
        )
        parts.append(out)
    return parts[0] if len(parts) == 1 else tuple(map(torch.cat, zip(*parts, strict=True))), state


def _steps(
    cell: Cell, x: Tensor, sizes: list[int], state: State, first: int, reset: Tensor | None, cells: bool
) -> tuple[State, State]:
    """The steps `first`, `first` + 1, ...: outputs, and the state after the last."""
    projected = cell.inputs_by_step(x, sizes, first)
    passed: list[State] = []
    for k, n in enumerate(sizes):
        everyone = n == state[0].shape[0]
        running = state if everyone else tuple(s[:n] for s in state)
        if reset is not None:
            running = cell.restart(running, reset[k, :n])
        new = cell.step(projected[k], running, first + k)
        passed.append(new[: 1 + cells])
        state = new if everyone else tuple(torch.cat([a, s[n:]]) for a, s in zip(new, state, strict=True))
    return tuple(map(torch.cat, zip(*passed, strict=True))), state


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


def turn_marks(reset: Bool[Tensor, "T N"], sizes: Sequence[int]) -> Bool[Tensor, "T N"]:
    """Where sequences that run backward begin anew: between the same steps, seen from behind.

    A mark at step t stands between t - 1 and t; backward, it is t - 1 that begins anew.

    >>> turn_marks(torch.tensor([[False], [True], [False]]), [1, 1, 1]).T
    tensor([[False, False,  True]])
    """
    steps = torch.arange(len(sizes), device=reset.device).unsqueeze(1)
    lengths = (
        torch.tensor(sizes, device=reset.device).unsqueeze(1)
        > torch.arange(reset.shape[1], device=reset.device)
    ).sum(0)
    seen = reset.gather(0, (lengths - steps).clamp(0, len(sizes) - 1))
    return seen & (steps > 0) & (steps < lengths)
