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
from itertools import accumulate
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lnlib.matmul import product
from lnlib.rnn import recurrence
from lnlib.rnn.cells import Cell, GRUCell
from lnlib.rnn.kernels import gru, lstm
from lnlib.rnn.kernels.matmul import pack, padded

__all__ = ["OverflowInStatistics", "run"]

# Numbers in a chunk's projected inputs: 8 MB, and 2 MB where nothing is kept.
TRAINING, INFERENCE = 2**21, 2**19
CACHE = 2**21  # numbers in a matrix that each thread had better read alone: 8 MB

FLOATS: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}  # whatever the user's defaults are

State = tuple[Tensor, ...]

# OpenMP kills a forked child that enters its parent's pool of threads: there, one thread must do.
_forked = Event()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked.set)


def run(
    cell: Cell,
    x: Tensor,
    sizes: Sequence[int],
    state: State,
    recompute: bool,
) -> tuple[State, State]:
    """Outputs (M, H) and final state of one layer and direction; arguments as :func:`lnlib.rnn.stack.unroll`.

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


class Saved(NamedTuple):
    """What a chunk keeps: both projections, normalized; the state before each step; four scalars a row.

    Kernels get a bare tuple: numba's cache on disk would remember this class by the name of its module.
    """

    x: np.ndarray
    h: np.ndarray
    before: np.ndarray
    stats: np.ndarray


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
        p = {name: value.detach() for name, value in cell.p.items()}
        self.p = p
        self.gru = isinstance(cell, GRUCell)
        self.states = 1 if self.gru else 2
        self.size = p["weight_hh"].shape[1]
        self.width = p["weight_hh"].shape[0]
        self.matrix = p["weight_hh"]
        self.parts = 1 if _forked.is_set() else torch.get_num_threads()
        self.together = self.parts > 1 and self.matrix.numel() > CACHE
        self.center, self.eps = cell.norm == "layer", np.float32(cell.eps)
        zeros = torch.zeros(self.width, **FLOATS)
        b_ih, b_hh = p.get("bias_ih", zeros), p.get("bias_hh", zeros)
        if self.gru:
            bias = b_ih.clone()
            bias[: 2 * self.size] += b_hh[: 2 * self.size]
            self.norm: tuple[Tensor, ...] = p["gain_ih"], p["gain_hh"], bias, b_hh[2 * self.size :]
            self.options: tuple[Any, ...] = (
                np.float32(1 if cell.variant.keeps == "new" else -1),
                self.center,
            )
            self.kernels = gru.forward, gru.backward
        else:
            self.norm = (
                p["gain_ih"],
                p["gain_hh"],
                b_ih + b_hh,
                p["gain_cell"],
                p.get("bias_cell", zeros[: self.size]),
            )
            self.options = (self.center,)
            self.kernels = lstm.forward, lstm.backward
        self.norm_arrays = tuple(_array(t.contiguous()) for t in self.norm)
        self.scratch = np.empty((self.parts, 6 * self.size), np.float32)
        self._packed: dict[bool, np.ndarray] = {}

    def packed(self, transposed: bool) -> np.ndarray:
        """The matrix for h W', or for the way back."""
        if transposed not in self._packed:
            self._packed[transposed] = pack(_array(self.matrix if transposed else self.matrix.mT))
        return self._packed[transposed]

    def forward(
        self, x: Tensor, chunk: Chunk, state: tuple[np.ndarray, ...], out: np.ndarray, save: bool
    ) -> Saved:
        """Take state through the steps of a chunk."""
        a = product(x[chunk.rows], self.p["weight_ih"].mT)
        if "bias_inner" in self.p:
            a += self.p["bias_inner"]
        rows = len(a) if save else len(state[0])
        r = np.empty((len(state[0]), padded(self.width)), np.float32)
        saved = Saved(
            a.numpy(),
            np.empty((rows, self.width), np.float32) if save else r,
            np.empty((self.states, rows if save else 0, self.size), np.float32),
            np.empty((len(a), 4), np.float32),
        )
        arguments = (
            chunk.sizes,
            chunk.starts,
            save,
            self.packed(False),
            (r, self.scratch),
            tuple(saved),
            state,
            out[chunk.rows],
        )
        self.kernels[0][self.parts > 1](
            self.parts, self.together, *arguments, self.norm_arrays, *self.options, self.eps
        )
        if not (saved.stats[:, : 4 if self.gru else 3] > 0).all():
            raise OverflowInStatistics
        return saved

    def backward(
        self, x: Tensor, chunk: Chunk, saved: Saved, d_out: np.ndarray, d_x: Tensor | None, to: Gradients
    ) -> None:
        """Take the gradients of the state back through a chunk, adding those of the parameters."""
        sizes, starts = chunk.sizes[::-1].copy(), chunk.starts[::-1].copy()
        arguments = (
            sizes,
            starts,
            self.packed(True),
            self.scratch,
            tuple(saved),
            d_out[chunk.rows],
            to.d_state,
        )
        self.kernels[1][self.parts > 1](
            self.parts, self.together, *arguments, self.norm_arrays, to.d_norm, *self.options
        )
        d_a, d_r = torch.from_numpy(saved.x), torch.from_numpy(saved.h)
        # Transposed, since oneDNN wants one factor of the product laid out anew, and this one is the smaller.
        to.weight_ih_t += product(x[chunk.rows].mT.contiguous(), d_a)
        to.weight_hh_t += product(torch.from_numpy(saved.before[0]).mT.contiguous(), d_r)
        if "bias_inner" in self.p:
            to.bias_inner += d_a.sum(0)
        if d_x is not None:
            d_x[chunk.rows] = product(d_a, self.p["weight_ih"])


def _array(parameter: Tensor) -> np.ndarray:
    """A parameter's memory as an array. After Tensor.numpy it could not be resized, which FSDP does."""
    array: np.ndarray = np.from_dlpack(parameter)
    return array if array.flags.writeable else parameter.numpy()  # an older numpy gives what kernels refuse


class Gradients:
    """What the way back adds up."""

    def __init__(self, layer: Layer, d_state: State):
        self.gru, self.size = layer.gru, layer.size
        d_h = np.zeros((len(d_state[0]), padded(layer.size)), np.float32)
        d_h[:, : layer.size] = d_state[0].numpy()
        # Beside h: an LSTM's cell; of a GRU's h what bypasses the matrix.
        other = torch.zeros_like(d_state[0]) if self.gru else d_state[1].clone()
        self.d_state = d_h, other.contiguous().numpy()
        self.d_norm = tuple(np.zeros((layer.parts, len(t)), np.float32) for t in layer.norm)
        self.weight_ih_t = torch.zeros(layer.p["weight_ih"].shape[::-1], **FLOATS)
        self.weight_hh_t = torch.zeros(layer.matrix.shape[::-1], **FLOATS)
        self.bias_inner = torch.zeros(layer.width, **FLOATS)

    def state(self) -> State:
        d_h, other = (torch.from_numpy(d) for d in self.d_state)
        d_h = d_h[:, : self.size]
        return (d_h + other,) if self.gru else (d_h.contiguous(), other)

    def parameters(self, names: Sequence[str]) -> list[Tensor]:
        d = [torch.from_numpy(part.sum(0)) for part in self.d_norm]
        found = {"gain_ih": d[0], "gain_hh": d[1], "bias_ih": d[2], "bias_hh": d[2].clone()}
        found["weight_ih"], found["weight_hh"] = (
            d.mT.contiguous() for d in (self.weight_ih_t, self.weight_hh_t)
        )
        found["bias_inner"] = self.bias_inner
        if self.gru:
            found["bias_hh"][2 * self.size :] = d[3]
        else:
            found |= {"gain_cell": d[3], "bias_cell": d[4]}
        return [found[name] for name in names]
