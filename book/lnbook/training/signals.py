"""Ctrl-C and SIGTERM: an update under way is finished first, so that what is kept is whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["postponed", "sigterm_interrupts"]


@contextmanager
def postponed(wanted: bool = True) -> Iterator[Callable[[], bool]]:
    """Inside, a signal to stop is remembered, and the function that this gives says whether one came.

    Outside the main thread, and if not `wanted`, signals do what they did.

    >>> with postponed() as asked:
    ...     signal.raise_signal(signal.SIGINT)
    ...     asked()
    True
    """
    came: list[int] = []
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def remember(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt, as Ctrl-C does; for the main thread.

    >>> try:
    ...     with sigterm_interrupts():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
