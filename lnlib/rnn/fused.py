r"""The compiled recurrences of :mod:`lnlib.rnn.kernels` under autograd.

Time is cut into chunks that fit the caches; the way back takes them in reverse. A chunk that has kept
nothing, because of `memory="recompute"` or of a second backward pass, runs forward once more from the state
that it began with. A backward pass that must itself be differentiable takes the plain path's derivative.
What is kept is out of sight of hooks on saved tensors (`torch.utils.checkpoint`, `save_on_cpu`):
`memory="recompute"` is for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lnlib.rnn.cells import Cell
from lnlib.rnn.chunks import FLOATS, Gradients, Layer, chunks

__all__ = ["run"]

State = tuple[Tensor, ...]


def run(
    cell: Cell,
    x: Tensor,
    sizes: Sequence[int],
    state: State,
    recompute: bool,
    plain: Callable[..., tuple[State, State]],
) -> tuple[State, State]:
    """Outputs (M, H) and final state of one layer and direction.

    Args:
        plain: the same on the plain path, of (cell, x, state): for second derivatives.

    Raises OverflowInStatistics if a step's variance is not finite.
    """
    # Initial states are among the parameters for the sake of resets, which the plain path does.
    cell = replace(cell, p={name: t for name, t in cell.p.items() if not name.startswith("initial_")})
    names = sorted(cell.p)
    keeps = torch.is_grad_enabled() and any(t.requires_grad for t in (x, *state, *cell.p.values()))
    mode = "recompute" if keeps and recompute else "save" if keeps else "inference"
    results = _Recurrence.apply(cell, sizes, mode, plain, x, *state, *(cell.p[name] for name in names))
    return results[:1], results[1:]


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, cell: Cell, sizes: Sequence[int], mode: str, plain: Any, x: Tensor, *tensors: Tensor
    ) -> State:
        layer = Layer(cell)
        first = tuple(
            t.detach().clone(memory_format=torch.contiguous_format) for t in tensors[: layer.states]
        )
        state = tuple(t.numpy() for t in first)
        steps = chunks(sizes, layer.width, keep=mode != "inference")
        given, x = x, x.contiguous()
        out = torch.empty(len(x), layer.size, **FLOATS)
        ctx.begins, ctx.saved = [], []
        for chunk in steps:
            if mode != "inference":
                ctx.begins.append(tuple(s.copy() for s in state))
            saved = layer.forward(x, chunk, state, out.numpy(), save=mode == "save")
            ctx.saved.append(saved if mode == "save" else None)
        ctx.save_for_backward(given, *tensors)
        ctx.cell, ctx.plain, ctx.chunks = cell, plain, steps
        return out, *first

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, *d_state: Tensor) -> tuple[Tensor | None, ...]:
        x, *tensors = ctx.saved_tensors
        names, count = sorted(ctx.cell.p), len(d_state)
        batched = map(torch._C._functorch.is_legacy_batchedtensor, (d_out, *d_state))
        if torch.is_grad_enabled() or any(batched):
            return None, None, None, None, *_differentiable(ctx, x, tensors, (d_out, *d_state))
        layer = Layer(replace(ctx.cell, p=dict(zip(names, tensors[count:], strict=True))))
        gradients = Gradients(layer, d_state)
        x, d_out = x.contiguous(), d_out.contiguous()
        d_x = torch.empty_like(x) if ctx.needs_input_grad[4] else None
        room = np.empty((len(x) if None in ctx.saved else 0, layer.size), np.float32)
        for k in reversed(range(len(ctx.chunks))):
            chunk, saved = ctx.chunks[k], ctx.saved[k]
            if saved is None:
                state = tuple(s.copy() for s in ctx.begins[k])
                saved = layer.forward(x, chunk, state, room, save=True)
            ctx.saved[k] = None  # overwritten from here on
            layer.backward(x, chunk, saved, d_out.numpy(), d_x, gradients)
        return None, None, None, None, d_x, *gradients.state(), *gradients.parameters(names)


def _differentiable(
    ctx: Any, x: Tensor, tensors: Sequence[Tensor], d: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The gradients by the plain path: functions of inputs and d where these are asked for."""
    count, create = len(d) - 1, torch.is_grad_enabled()
    with torch.enable_grad():
        # Aliases, or the gradient would take the ways that lead from one input to another as well.
        x, *tensors = (t.view_as(t) if t.requires_grad else t for t in (x, *tensors))
        p = dict(zip(sorted(ctx.cell.p), tensors[count:], strict=True))
        out, state = ctx.plain(replace(ctx.cell, p=p), x, tuple(tensors[:count]))
    wanted = [t for t in (x, *tensors) if t.requires_grad]
    found = iter(torch.autograd.grad([*out, *state], wanted, list(d), create_graph=create, allow_unused=True))
    return tuple(next(found) if t.requires_grad else None for t in (x, *tensors))
