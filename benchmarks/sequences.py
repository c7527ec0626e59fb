"""What an update of the paper's four experiments on sequences costs.

    python benchmarks/sequences.py             print the table (half an hour on a quiet machine)
    python benchmarks/sequences.py --record    and keep it in book/results/benchmarks/

At the sizes of the book's own runs and of the paper's, float32, one core. Where the paper's data need a
registration or a server of their own, its sizes are fed with other data (`INSTEAD`). Times are processor
milliseconds an update, the batch included; the ratio is to the network without a norm, the median over rounds
(at the paper's sizes two) in each of which both run in turn; `recurrence` is the share of the recurrent
modules in torch's profile of such updates, which counts many small operations too high; memory is what an
update adds to a process at its peak, in MB. Without the user's folder of data ($LNLIB_DATA) the stand-ins
serve, with lengths and vocabularies of their own; the provenance says which were read.
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from rounds import Row, added, run
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

from lnbook.cli.experiments import find
from lnbook.pages.sec6_5_handwriting.model import ReadingLSTM
from lnbook.shared.turns import seconds
from lnbook.training import Job, LengthBatches, Machine, Task, step, torch_threads
from lnbook.training.runs import jobs_of

# of the paper's studies: captions with boxes, questions about novels, lines of letters
INSTEAD: dict[str, dict[str, Any]] = {
    "6.1": {"data": "coco_captions"},
    "6.2": {"data": "gutenberg", "markers": 10},
    "6.3": {"batch_size": 16},  # of 128: an update of those takes minutes
    "6.5": {"data": "omniglot_strokes", "lines": 2000, "judged": 100, "longest": 16},
}
RECURRENCE = "a recurrence"  # its name in a profile


def measure(rounds: int) -> Iterator[Row]:
    """An update with no norm and with layer norm, of each experiment at each size."""
    torch.set_num_threads(1)
    for section, instead in INSTEAD.items():
        yield from costs(section, "book", {}, rounds=rounds, updates=3)
        yield from costs(section, "paper", instead, rounds=min(rounds, 2), updates=1)


def costs(section: str, scale: str, changed: dict[str, Any], *, rounds: int, updates: int) -> Iterator[Row]:
    jobs: dict[str, Job] = {}
    for job in jobs_of(find(section), scale):
        jobs.setdefault(job["norm"], {**job, **changed})
    norms = ("none", "layer")
    tasks = {norm: find(section).task(jobs[norm], scale, Machine()) for norm in norms}
    times = seconds(tasks, rounds=rounds, updates=updates)
    for norm, task in tasks.items():
        row: Row = {"section": section, "scale": scale, "norm": norm}
        row["ms"] = 1e3 * float(np.median(times[norm]))
        row |= {"ratio": float(np.median(times[norm] / times["none"])), "recurrence": share(task, rounds)}
        row["padding"] = task.batches.padding() if isinstance(task.batches, LengthBatches) else 0.0
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            row["step_mb"] = pool.submit(memory, section, scale, jobs[norm]).result()
        yield row


def memory(section: str, scale: str, job: Job) -> float:
    """What an update keeps for the way back, its gradients and all scratch: no data, weights or averages."""
    torch.set_num_threads(1)
    task, noise = find(section).task(job, scale, Machine()), torch.Generator().manual_seed(0)
    step(task, task.model, next(task.batches), noise)
    cases = next(task.batches)
    task.optimizer.zero_grad()
    return added(partial(step, task, task.model, cases, noise))


def share(task: Task, updates: int) -> float:
    """The recurrent modules' share of the time of so many updates."""
    times = [(event.self_cpu_time_total, ours) for event, ours in profiled(task, updates)]
    return float(sum(time for time, ours in times if ours) / sum(time for time, _ in times))


def profiled(task: Task, updates: int) -> list[tuple[Any, bool]]:
    """What torch ran in so many updates, and whether it belongs to the recurrent modules, forward or back."""
    marks: list[Any] = []
    for module in task.model.modules():
        if isinstance(module, nn.RNNBase | ReadingLSTM):
            module.register_forward_pre_hook(lambda *_: marks.append(record_function(RECURRENCE).__enter__()))
            module.register_forward_hook(lambda *_: marks.pop().__exit__(None, None, None))
    noise = torch.Generator().manual_seed(0)
    with torch_threads(1), profile(activities=[ProfilerActivity.CPU], acc_events=True) as found:
        for _ in range(updates):
            with record_function("an update"):
                step(task, task.model, next(task.batches), noise)
    events = found.events() or ()
    # Autograd gives the derivative of an operation its number; of several with one number, the last has it.
    forward = [e for e in events if e.sequence_nr >= 0 and not any(map(is_back, above(e)))]
    last = {e.sequence_nr: e for e in sorted(forward, key=lambda e: e.time_range.start)}
    ours = {number for number, event in last.items() if inside(event)}

    def counts(event: Any) -> bool:
        return inside(event) or any(is_back(e) and e.sequence_nr in ours for e in above(event))

    return [(event, counts(event)) for event in events]


def inside(event: Any) -> bool:
    return any(e.name == RECURRENCE for e in above(event))


def is_back(event: Any) -> bool:
    return event.name.startswith("autograd::engine::evaluate_function: ")


def above(event: Any) -> list[Any]:
    """The event and all that it is inside of."""
    return [] if event is None else [event, *above(event.cpu_parent)]


if __name__ == "__main__":
    line = "{:<9}{:<7}{:<7}" + "{:>11}" * 5
    run(__doc__, "sequences", measure, line, rounds=7)
