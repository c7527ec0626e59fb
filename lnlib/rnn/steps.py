r"""A recurrent network as one map from state to state, and the derivative of that map along directions.

The state is h, and for an LSTM (h, c), of all layers: (layers, N, R) each, as `torch.nn` lays it out; flat,
it is h of all layers and then c of all layers, S numbers a case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.rnn.cells import Cell
from lnlib.rnn.forms import Form
from lnlib.rnn.spec import Network

__all__ = ["State", "advance", "push", "recurrence", "walk"]

State = tuple[Tensor, ...]


def recurrence(module: Network, x: Tensor, hx: Any = None) -> tuple[list[Cell], Tensor, State]:
    """The layers' cells as in evaluation, x as (T, N, D), the state before the first step: all detached.

    Raises ValueError if the module is bidirectional or the sequence empty.
    """
    spec = module.spec
    if spec.bidirectional:
        raise ValueError(f"{module} also runs backward in time, where no state follows from the one before")
    with torch.no_grad():
        cells = _evaluated(module)
        form, x = Form.of(x.detach(), spec.batch_first)
        state = form.initial(spec, x, hx, [cell.p for cell in cells])
    if not form.steps or not form.cases:
        raise ValueError(
            f"the sequence has {form.steps} steps and {form.cases} cases; give at least one of each"
        )
    fixed = [replace(cell, p={name: value.detach() for name, value in cell.p.items()}) for cell in cells]
    return fixed, x.transpose(0, form.time), tuple(s.detach() for s in state)


def _evaluated(module: Network) -> list[Cell]:
    """The module's cells in evaluation: no noise, running statistics. The module stays in its mode."""
    training = module.training
    try:
        module.train(mode=False)
        return module.cells()
    finally:
        module.train(training)


def advance(cells: list[Cell], x: Float[Tensor, "N D"], state: State, t: int) -> State:
    """Step t of all layers, counted from 0."""
    new: list[State] = []
    for layer, cell in enumerate(cells):
        new.append(cell.step(cell.inputs(x, t), tuple(s[layer] for s in state), t))
        x = new[-1][0]
    return tuple(torch.stack(s) for s in zip(*new, strict=True))


def walk(cells: list[Cell], x: Float[Tensor, "T N D"], state: State) -> Iterator[State]:
    """The state after each step."""
    for t, x_t in enumerate(x):
        state = advance(cells, x_t, state, t)
        yield state


def push(
    cells: list[Cell], x: Float[Tensor, "N D"], state: State, t: int, v: Float[Tensor, "N k S"]
) -> tuple[State, Float[Tensor, "N k S"]]:
    r"""The state after step t, and $J v$ for k directions v of each case.

    $J = \partial s^t/\partial s^{t-1}$ at fixed input. $J^\top u$ is linear in u; its derivative along v is
    $J v$: reverse mode twice, on k copies of the case.
    """
    cases, k, _ = v.shape
    split = _splitter(state)
    flat = (
        torch.cat([s.transpose(0, 1).flatten(1) for s in state], 1).repeat_interleave(k, 0).requires_grad_()
    )
    with torch.enable_grad():
        new = advance(cells, x.repeat_interleave(k, 0), split(flat), t)
        out = torch.cat([s.transpose(0, 1).flatten(1) for s in new], 1)
        u = torch.zeros_like(out, requires_grad=True)
        (pulled,) = torch.autograd.grad(out, flat, u, create_graph=True)
        (pushed,) = torch.autograd.grad(pulled, u, v.reshape(cases * k, -1))
    return split(out.detach()[::k]), pushed.reshape(cases, k, -1)


def _splitter(like: State) -> Callable[[Tensor], State]:
    """The way back from flat states to those of these shapes, whatever the number of cases."""
    shapes = [(s.shape[0], s.shape[2]) for s in like]
    sizes = [layers * width for layers, width in shapes]

    def split(flat: Tensor) -> State:
        parts = zip(flat.split(sizes, 1), shapes, strict=True)
        return tuple(part.unflatten(1, shape).transpose(0, 1) for part, shape in parts)

    return split
