"""Where the time of an update goes: its recurrence, other products, other operations, the optimizer.

torch's profiler times every operation. Those that a recurrent module makes are known by the module's call; on
the way back, those are its that are the derivatives of these. The profiler itself takes time at every
operation, so that it counts many small ones too high.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

from lnbook.shared.steps.turns import CLIPPING, update
from lnbook.training import Task, torch_threads

__all__ = ["PARTS", "recurrent", "shares"]

PARTS = ("recurrence", "products", "operations", "optimizer", "rest")
UPDATE, FETCH, RECURRENCE = "an update", "fetch the batch", "a recurrence"
BACKWARD = "autograd::engine::evaluate_function: "
PRODUCTS = {
    *(f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm", "addbmm", "mv", "addmv", "dot")),
    *(f"aten::{name}" for name in ("mkldnn_convolution", "_slow_conv2d_forward", "convolution_backward")),
    "mkldnn::_linear_pointwise",
}


def shares(task: Task, *, updates: int = 5) -> dict[str, float]:
    """The share of each of `PARTS` in the time of an update, on the CPU with one thread.

    Of a whole of 1: "recurrence", all that happens inside the calls of the `recurrent` modules and on the
    way back through them, their own products too; "products", matrix products elsewhere; "operations", all
    other ones: embeddings, softmax, the loss; "optimizer", its step and the clipping; "rest", the batch,
    and Python between operations. Of each part the median over the updates counts, lest a moment in which
    the machine did something else decides.
    """
    noise = torch.Generator().manual_seed(0)
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # lest a first profile says on stderr that it begins
    with torch_threads(1):
        modules = recurrent(task, noise)
        cpu = [ProfilerActivity.CPU]
        with _marked(modules), profile(activities=cpu, acc_events=True) as found:
            for _ in range(updates):
                with record_function(UPDATE):
                    with record_function(FETCH):
                        cases = next(task.batches)
                    update(task, cases, noise)
    events = found.events() or ()
    ours = _ours(events)
    each = [_spent(event, ours) for event in events if event.name == UPDATE]
    typical = {part: median(spent[part] for spent in each) for part in PARTS}
    return {part: time / sum(typical.values()) for part, time in typical.items()}


def recurrent(task: Task, noise: torch.Generator) -> list[nn.Module]:
    """The modules whose calls are recurrences, found by one update.

    They are torch's recurrent modules, lnlib's among them; and where an update never calls such a one, but
    reads its weights in a loop of its own, the module that holds it.
    """
    called: set[nn.Module] = set()
    handles = [m.register_forward_pre_hook(lambda m, _: called.add(m)) for m in task.model.modules()]
    try:
        update(task, next(task.batches), noise)
    finally:
        for handle in handles:
            handle.remove()
    chosen: dict[nn.Module, None] = {}
    for holder in task.model.modules():
        for child in holder.children():
            if isinstance(child, nn.RNNBase | nn.RNNCellBase):
                chosen[child if child in called else holder] = None
    if isinstance(task.model, nn.RNNBase):
        chosen[task.model] = None
    return list(chosen)


@contextmanager
def _marked(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Inside, the calls of these modules stand in the profile."""
    marks: list[Any] = []
    handles = []
    for module in modules:
        handles += [
            module.register_forward_pre_hook(
                lambda *_: marks.append(record_function(RECURRENCE).__enter__())
            ),
            module.register_forward_hook(lambda *_: marks.pop().__exit__(None, None, None)),
        ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _ours(events: Iterable[Any]) -> set[int]:
    """The numbers of the operations inside recurrences: autograd gives their derivatives the same ones.

    An operation without a derivative has the number of the next that has one: of a number, the last counts.
    """
    last: dict[int, Any] = {}
    for event in events:
        if event.sequence_nr >= 0 and not event.name.startswith(BACKWARD) and not _inside(event, BACKWARD):
            known = last.get(event.sequence_nr)
            if known is None or event.time_range.start >= known.time_range.start:
                last[event.sequence_nr] = event
    return {number for number, event in last.items() if _inside(event, RECURRENCE)}


def _inside(event: Any, name: str) -> bool:
    while event is not None:
        if event.name.startswith(name):
            return True
        event = event.cpu_parent
    return False


def _spent(whole_update: Any, ours: set[int]) -> dict[str, float]:
    """Microseconds of each part in this event and all below it."""
    spent = dict.fromkeys(PARTS, 0.0)
    left = [whole_update]
    while left:
        event = left.pop()
        whole = _whole(event, ours)
        if whole:
            spent[whole] += event.cpu_time_total
            continue
        own = "rest" if event.name == UPDATE else "products" if event.name in PRODUCTS else "operations"
        spent[own] += event.self_cpu_time_total
        left += event.cpu_children
    return spent


def _whole(event: Any, ours: set[int]) -> str:
    """The part that an event belongs to with all below it; "" if that is to be asked of each."""
    if event.name == RECURRENCE or (event.name.startswith(BACKWARD) and event.sequence_nr in ours):
        return "recurrence"
    if event.name == CLIPPING or event.name.startswith("Optimizer."):
        return "optimizer"
    return "rest" if event.name == FETCH else ""
