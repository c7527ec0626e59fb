r"""The compiled recurrences of :mod:`lnlib.rnn.kernels` under autograd.

Time is cut into chunks that fit the caches; the way back takes them in reverse. Forward, a chunk projects its
inputs in one product, then runs the kernel. Backward: the kernel, then one product each for the gradients of
both matrices and of the inputs, while those of the summed inputs are in cache. What a chunk keeps is
overwritten on the way back; one that has kept nothing, because of `memory="recompute"` or of a second
backward pass, runs forward once more from the state that it began with. A backward pass that must itself be
differentiable takes the plain path's derivative. What is kept is out of sight of hooks on saved tensors
(`torch.utils.checkpoint`, `save_on_cpu`): `memory="recompute"` is for that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lnlib.matmul import product
from lnlib.rnn import recurrence
from lnlib.rnn.cells import Cell, GRUCell
from lnlib.rnn.kernels import sequence
from lnlib.rnn.kernels.matmul import pack, padded

__all__ = ["OverflowInStatistics", "run"]

# Numbers in a chunk's projected inputs: 8 MB, and 2 MB where nothing is kept.
TRAINING, INFERENCE = 2**21, 2**19
CACHE = 2**21  # numbers in a matrix that each thread had better read alone: 8 MB

FLOATS: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}  # whatever the user's defaults are

State = tuple[Tensor, ...]
Arrays = tuple[np.ndarray, ...]

# OpenMP kills a forked child that enters its parent's pool of threads: there, one thread must do.
_forked = Event()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked.set)


def run(cell: Cell, x: Tensor, sizes: Sequence[int], state: State, recompute: bool) -> tuple[State, State]:
    """Outputs (M, H) and final state, as :func:`lnlib.rnn.stack.unroll`.

    Raises OverflowInStatistics if a step's variance is not finite.
    """
    names = sorted(cell.p)
    keeps = torch.is_grad_enabled() and any(t.requires_grad for t in (x, *state, *cell.p.values()))
    mode = "recompute" if keeps and recompute else "save" if keeps else "inference"
    results = _Recurrence.apply(cell, sizes, mode, x, *state, *(cell.p[name] for name in names))
    return results[:1], results[1:]


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, cell: Cell, sizes: Sequence[int], mode: str, x: Tensor, *tensors: Tensor) -> State:
        layer = Layer(cell)
        given_state = tensors[: len(tensors) - len(cell.p)]
        first = tuple(t.detach().clone(memory_format=torch.contiguous_format) for t in given_state)
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
        ctx.cell, ctx.sizes, ctx.chunks = cell, sizes, steps
        return out, *first

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, *d_state: Tensor) -> tuple[Tensor | None, ...]:
        x, *tensors = ctx.saved_tensors
        names, count = sorted(ctx.cell.p), len(d_state)
        batched = map(torch._C._functorch.is_legacy_batchedtensor, (d_out, *d_state))
        if torch.is_grad_enabled() or any(batched):
            return None, None, None, *_differentiable(ctx, x, tensors, (d_out, *d_state))
        layer = Layer(replace(ctx.cell, p=dict(zip(names, tensors[count:], strict=True))))
        gradients = Gradients(layer, d_state)
        x, d_out = x.contiguous(), d_out.contiguous()
        d_x = torch.empty_like(x) if ctx.needs_input_grad[3] else None
        room = np.empty((len(x) if None in ctx.saved else 0, layer.size), np.float32)
        for k in reversed(range(len(ctx.chunks))):
            chunk, saved = ctx.chunks[k], ctx.saved[k]
            if saved is None:
                state = tuple(s.copy() for s in ctx.begins[k])
                saved = layer.forward(x, chunk, state, room, save=True)
            ctx.saved[k] = None  # overwritten from here on
            layer.backward(x, chunk, saved, d_out.numpy(), d_x, gradients)
        return None, None, None, d_x, *gradients.state(), *gradients.parameters(names)


def _differentiable(
    ctx: Any, x: Tensor, tensors: Sequence[Tensor], d: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The gradients by the plain path: functions of inputs and d where these are asked for."""
    count, create = len(d) - 1, torch.is_grad_enabled()
    with torch.enable_grad():
        # Aliases, or the gradient would take the ways that lead from one input to another as well.
        x, *tensors = (t.view_as(t) if t.requires_grad else t for t in (x, *tensors))
        p = dict(zip(sorted(ctx.cell.p), tensors[count:], strict=True))
        out, state = recurrence.run(replace(ctx.cell, p=p), x, ctx.sizes, tuple(tensors[:count]))
    wanted = [t for t in (x, *tensors) if t.requires_grad]
    found = iter(torch.autograd.grad([*out, *state], wanted, list(d), create_graph=create, allow_unused=True))
    return tuple(next(found) if t.requires_grad else None for t in (x, *tensors))


class Chunk(NamedTuple):
    """Consecutive steps: their rows of the packed arrays, and sequences and first row of each step."""

    rows: slice
    sizes: np.ndarray
    starts: np.ndarray


class OverflowInStatistics(ArithmeticError):
    """A variance that is not finite in float32: NaN, or summed inputs that the plain path scales first."""


def chunks(sizes: Sequence[int], width: int, keep: bool) -> list[Chunk]:
    """Steps in equal groups of at most so many projected inputs as fit a cache, but one step at least."""
    numbers = TRAINING if keep else INFERENCE
    ends = [0, *accumulate(sizes)]
    count = max(1, -(-ends[-1] * width // numbers))
    steps = -(-len(sizes) // min(count, len(sizes)))
    found = []
    for first in range(0, len(sizes), steps):
        last = min(first + steps, len(sizes))
        starts = np.array(ends[first:last]) - ends[first]
        found.append(Chunk(slice(ends[first], ends[last]), np.array(sizes[first:last]), starts))
    return found


class Layer:
    """The kernels' arguments for one cell: matrices packed, biases summed."""

    def __init__(self, cell: Cell):
        self.p = p = {name: value.detach() for name, value in cell.p.items()}
        self.gru = isinstance(cell, GRUCell)
        self.width, self.size = p["weight_hh"].shape
        self.parts = 1 if _forked.is_set() else torch.get_num_threads()
        self.together = self.parts > 1 and p["weight_hh"].numel() > CACHE
        sign = np.float32(1 if cell.variant.keeps == "new" else -1)
        self.options = sign, cell.norm == "layer", np.float32(cell.eps)
        zeros = torch.zeros(self.width, **FLOATS)
        b_ih, b_hh = p.get("bias_ih", zeros), p.get("bias_hh", zeros)
        norm = [p["gain_ih"], p["gain_hh"], b_ih + b_hh]
        if self.gru:  # the reset gate takes a share of the candidate's bias_hh: that one stays apart
            norm[2][2 * self.size :] = b_ih[2 * self.size :]
            norm.append(b_hh[2 * self.size :])
        else:
            norm += [p["gain_cell"], p.get("bias_cell", zeros[: self.size])]
        self.norm = tuple(_array(t.contiguous()) for t in norm)
        self.scratch = np.empty((self.parts, 6 * self.size), np.float32)

    @cached_property
    def packed(self) -> np.ndarray:
        """The state's matrix for h W'."""
        return pack(_array(self.p["weight_hh"].mT))

    @cached_property
    def packed_back(self) -> np.ndarray:
        """The same for the way back."""
        return pack(_array(self.p["weight_hh"]))

    def forward(self, x: Tensor, chunk: Chunk, state: Arrays, out: np.ndarray, save: bool) -> Arrays:
        """Take state through the steps of a chunk: what :func:`lnlib.rnn.kernels.sequence.forward` saves."""
        a = product(x[chunk.rows], self.p["weight_ih"].mT)
        if "bias_inner" in self.p:
            a += self.p["bias_inner"]
        rows = len(a) if save else 0
        r = np.empty((len(state[0]), padded(self.width)), np.float32)
        kept = np.empty((rows, self.width), np.float32) if save else r
        before = np.empty((len(state), rows, self.size), np.float32)
        saved = a.numpy(), kept, before, np.empty((len(a), 4), np.float32)
        here = self.parts, self.together, chunk.sizes, chunk.starts
        room = r, self.scratch
        run_chunk = sequence.forward[self.parts > 1]
        run_chunk(*here, save, self.packed, room, saved, state, out[chunk.rows], self.norm, self.options)
        if not (saved[3][:, : 4 if self.gru else 3] > 0).all():
            raise OverflowInStatistics
        return saved

    def backward(
        self, x: Tensor, chunk: Chunk, saved: Arrays, d_out: np.ndarray, d_x: Tensor | None, to: Gradients
    ) -> None:
        """Take the gradients of the state back through a chunk, adding those of the parameters."""
        here = self.parts, self.together, chunk.sizes[::-1].copy(), chunk.starts[::-1].copy()
        d = d_out[chunk.rows], to.d_state, self.norm, to.d_norm
        run_chunk = sequence.backward[self.parts > 1]
        run_chunk(*here, self.packed_back, self.scratch, saved, *d, self.options)
        d_a, d_r, before, _ = map(torch.from_numpy, saved)
        # Transposed, since oneDNN wants one factor of the product laid out anew, and this one is the smaller.
        to.weight_ih_t += product(x[chunk.rows].mT.contiguous(), d_a)
        to.weight_hh_t += product(before[0].mT.contiguous(), d_r)
        if "bias_inner" in self.p:
            to.bias_inner += d_a.sum(0)
        if d_x is not None:
            d_x[chunk.rows] = product(d_a, self.p["weight_ih"])


def _array(parameter: Tensor) -> np.ndarray:
    """A parameter's memory as an array. After Tensor.numpy it could not be resized, which FSDP does."""
    array: np.ndarray = np.from_dlpack(parameter)
    return array if array.flags.writeable else parameter.numpy()  # an older numpy gives what kernels refuse


class Gradients:
    """Gradient accumulators."""

    def __init__(self, layer: Layer, d_state: State):
        self.gru, self.size = layer.gru, layer.size
        d_h = np.zeros((len(d_state[0]), padded(layer.size)), np.float32)
        d_h[:, : layer.size] = d_state[0].numpy()
        # Beside h: an LSTM's cell; of a GRU's h what bypasses the matrix.
        other = torch.zeros_like(d_state[0]) if self.gru else d_state[1].clone()
        self.d_state = d_h, other.contiguous().numpy()
        self.d_norm = tuple(np.zeros((layer.parts, len(a)), np.float32) for a in layer.norm)
        self.weight_ih_t = torch.zeros(layer.p["weight_ih"].shape[::-1], **FLOATS)
        self.weight_hh_t = torch.zeros(layer.p["weight_hh"].shape[::-1], **FLOATS)
        self.bias_inner = torch.zeros(layer.width, **FLOATS)

    def state(self) -> State:
        """Of the states at the start."""
        d_h, other = map(torch.from_numpy, self.d_state)
        d_h = d_h[:, : self.size]
        return (d_h + other,) if self.gru else (d_h.contiguous(), other)

    def parameters(self, names: Sequence[str]) -> list[Tensor]:
        """Of the parameters of these names."""
        gain_ih, gain_hh, bias, *others = (torch.from_numpy(part.sum(0)) for part in self.d_norm)
        found = {"gain_ih": gain_ih, "gain_hh": gain_hh, "bias_ih": bias, "bias_hh": bias.clone()}
        if self.gru:
            found["bias_hh"][2 * self.size :] = others[0]
        else:
            found["gain_cell"], found["bias_cell"] = others
        found["weight_ih"], found["weight_hh"] = self.weight_ih_t.mT, self.weight_hh_t.mT
        found["bias_inner"] = self.bias_inner
        return [found[name].contiguous() for name in names]
