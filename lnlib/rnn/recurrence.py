r"""The loop over time: one layer, one direction, all sequences of a batch, whatever their lengths."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.rnn.cells import Cell

__all__ = ["unroll"]


def unroll(
    cell: Cell,
    x: Float[Tensor, "M D"],
    sizes: Sequence[int],
    state: tuple[Float[Tensor, "N _"], ...],
    reverse: bool = False,
) -> tuple[Float[Tensor, "M R"], tuple[Float[Tensor, "N _"], ...]]:
    """Run a cell over sequences sorted by length, as PackedSequence lays them out.

    Args:
        cell: the step and the projection of the inputs.
        x: inputs of step 1, then of step 2, ...: M = sum of the sizes.
        sizes: how many sequences still run at each step, never increasing; padded batches have N, N, ...
        state: before the first step, (N, ...) each.
        reverse: from the last step to the first; a sequence joins at its own last step.

    Returns:
        Outputs laid out as x, and the state after each sequence's last step.
    """
    projected = cell.inputs(x).split(list(sizes))
    outputs: list[Tensor] = [x] * len(sizes)
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        n = sizes[t]
        running = state if n == len(state[0]) else tuple(s[:n] for s in state)
        new = cell.step(projected[t], running)
        outputs[t] = new[0]
        state = (
            new if running is state else tuple(torch.cat([a, s[n:]]) for a, s in zip(new, state, strict=True))
        )
    return torch.cat(outputs) if outputs else x.new_empty(0, state[0].shape[1]), state
