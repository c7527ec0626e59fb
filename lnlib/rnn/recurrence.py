r"""The loop over time in torch's operations: one layer, one direction, sequences of any lengths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import isqrt

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lnlib.rnn.cells import Cell

__all__ = ["run", "turn"]

State = tuple[Tensor, ...]


def run(
    cell: Cell,
    x: Float[Tensor, "M D"],
    sizes: Sequence[int],
    state: tuple[Float[Tensor, "N _"], ...],
    cells: bool = False,
    recompute: bool = False,
) -> tuple[tuple[Float[Tensor, "M _"], ...], tuple[Float[Tensor, "N _"], ...]]:
    """All steps, as :func:`lnlib.rnn.stack.unroll`: any dtype and device, differentiable at will."""
    chunk = isqrt(len(sizes) - 1) + 1 if recompute and torch.is_grad_enabled() else len(sizes)
    starts = range(0, len(sizes), chunk)
    groups = [list(sizes[first : first + chunk]) for first in starts]
    parts: list[State] = []
    for first, group, inputs in zip(starts, groups, x.split([sum(g) for g in groups]), strict=True):
        arguments = (cell, inputs, group, state, first, cells)
        # Masks are drawn again as they were: checkpoint brings back the state of the generator.
        out, state = (
            checkpoint(_steps, *arguments, use_reentrant=False) if len(groups) > 1 else _steps(*arguments)
        )
        parts.append(out)
    return parts[0] if len(parts) == 1 else tuple(map(torch.cat, zip(*parts, strict=True))), state


def _steps(
    cell: Cell, x: Tensor, sizes: list[int], state: State, first: int, cells: bool
) -> tuple[State, State]:
    """The steps `first`, `first` + 1, ...: outputs, and the state after the last."""
    projected = cell.inputs_by_step(x, sizes, first)
    passed: list[State] = []
    for k, n in enumerate(sizes):
        everyone = n == state[0].shape[0]
        new = cell.step(projected[k], state if everyone else tuple(s[:n] for s in state), first + k)
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
