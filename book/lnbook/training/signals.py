"""Ctrl-C, SIGTERM, SIGHUP: an update under way is finished first, so that what is kept is whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["HANGUP", "postponed", "stops_interrupt"]

HANGUP = tuple(filter(None, [getattr(signal, "SIGHUP", None)]))  # Windows has none


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

    with _handled((signal.SIGINT, *_stops()), remember):
        yield lambda: bool(came)


@contextmanager
def stops_interrupt() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does; for the main thread.

    >>> try:
    ...     with stops_interrupt():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    with _handled(_stops(), signal.default_int_handler):
        yield


def _stops() -> tuple[int, ...]:
    """SIGTERM, and SIGHUP unless it is ignored: `nohup` means that a run outlives its terminal."""
    return (signal.SIGTERM, *(n for n in HANGUP if signal.getsignal(n) is not signal.SIG_IGN))


@contextmanager
def _handled(numbers: tuple[int, ...], handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, signal.SIG_DFL if was is None else was)
