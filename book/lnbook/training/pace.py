"""A rough estimate of how long a run takes here, from a few of its updates and rows on a few cases."""

from lnbook.training.errors import NonFiniteLoss
from lnbook.training.loop import train
from lnbook.training.record import Run
from lnbook.training.task import Machine, Task

__all__ = ["timed"]

WARM, TIMED = 1, 3  # updates: the first ones, which allocate and compile, do not count


def timed(task: Task, machine: Machine) -> float:
    """Seconds that all updates and rows of a task would take on this machine, with nothing beside it.

    Rows are timed on one batch of cases per part, and so not at all if `Task.evaluate` needs all cases of a
    part at once. Returns 0 for a task whose loss is not finite from the start: its run would end at once.

    Args:
        task: made for this call and useless afterward: it is trained a little and loses its parts.
        machine: where it computes.
    """
    updates, rows = task.updates, 1 + -(-task.updates // task.every)
    parts = {} if type(task).evaluate is not Task.evaluate else dict(task.parts)
    few = {part: tuple(x[: task.evaluation_batch] for x in cases) for part, cases in parts.items()}
    taken = sum(len(cases[0]) for cases in few.values())
    times = sum(len(cases[0]) for cases in parts.values()) / taken if taken else 1.0
    task.parts, task.last_parts, task.select = few, None, None
    try:
        _train(task, machine, WARM)
        run = _train(task, machine, TIMED)
    except NonFiniteLoss:
        return 0.0
    update = run.rows[-1]["seconds"] / TIMED
    row = (run.wall_seconds - run.rows[-1]["seconds"]) / len(run.rows)
    return update * updates + row * times * rows


def _train(task: Task, machine: Machine, updates: int) -> Run:
    task.updates = task.every = updates
    return train(task, machine=machine, progress=False)
