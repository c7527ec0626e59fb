"""The loop over time in torch's operations: one layer, one direction, sequences of any lengths."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lnlib.rnn.cells import Cell

__all__ = ["run"]

State = tuple[Tensor, ...]


def run(
    cell: Cell, x: Tensor, sizes: Sequence[int], state: State, cells: bool = False, recompute: bool = False
) -> tuple[State, State]:
    """All steps forward, as :func:`lnlib.rnn.stack.unroll`: any dtype and device, differentiable at will."""
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
