"""A time at which runs stop as at Ctrl-C: the update under way is finished, a checkpoint is written."""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lnbook.training.task import Cases

__all__ = ["Deadline", "Ending"]


@dataclass(frozen=True)
class Deadline:
    """When runs stop.

    Args:
        at: a time of the clock, in its unit; infinity for never.
        clock: never goes back, and is the same in all local processes, as `time.monotonic` is (seconds).

    >>> Deadline(2.0, clock=lambda: 1.5).left, Deadline(2.0, clock=lambda: 2.0).passed()
    (0.5, True)
    """

    at: float
    clock: Callable[[], float] = time.monotonic

    @property
    def left(self) -> float:
        """The time until then; 0 or less when it has passed."""
        return self.at - self.clock()

    def passed(self) -> bool:
        """Whether it is time to stop."""
        return self.left <= 0


class Ending(Iterator[Cases]):
    """Batches that stop their run once a deadline has passed: the first that is asked for then is its last.

    The process gets the signal of Ctrl-C, for which the training loop finishes the update and writes a
    checkpoint; the loop decides a run's numbers, and so knows no deadline.
    """

    def __init__(self, batches: Iterator[Cases], deadline: Deadline) -> None:
        self.batches, self.deadline = batches, deadline

    def __next__(self) -> Cases:
        if self.deadline.passed():
            signal.raise_signal(signal.SIGINT)
        return next(self.batches)

    def state_dict(self) -> dict[str, Any]:
        """Where the batches stand."""
        found: dict[str, Any] = self.batches.state_dict()  # type: ignore[attr-defined]
        return found

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.batches.load_state_dict(state)  # type: ignore[attr-defined]
