"""A time at which runs stop as on Ctrl-C: they finish the update under way and write a checkpoint."""

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
        at: when, by the clock and in its unit; infinity for never.
        clock: never goes back and is the same in all local processes, as `time.monotonic` (in seconds) is.

    >>> Deadline(2.0, clock=lambda: 1.5).left, Deadline(2.0, clock=lambda: 2.0).passed()
    (0.5, True)
    """

    at: float
    clock: Callable[[], float] = time.monotonic

    @property
    def left(self) -> float:
        """The time that is left; 0 or less when the deadline has passed."""
        return self.at - self.clock()

    def passed(self) -> bool:
        """Whether it is time to stop."""
        return self.left <= 0


class Ending(Iterator[Cases]):
    """Batches that stop their run at a deadline: the first batch asked for after it is the run's last.

    The process gets the signal of Ctrl-C, on which the training loop finishes the update and writes a
    checkpoint. The loop itself has no deadline, because its code decides a run's numbers.
    """

    def __init__(self, batches: Iterator[Cases], deadline: Deadline) -> None:
        self.batches, self.deadline = batches, deadline

    def __next__(self) -> Cases:
        if self.deadline.passed():
            signal.raise_signal(signal.SIGINT)
        return next(self.batches)

    def state_dict(self) -> dict[str, Any]:
        """The place in the batches."""
        found: dict[str, Any] = self.batches.state_dict()  # type: ignore[attr-defined]
        return found

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from such a place."""
        self.batches.load_state_dict(state)  # type: ignore[attr-defined]
