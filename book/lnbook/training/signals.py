"""Ctrl-C, SIGTERM, a closed terminal: the update under way is finished first; so what is kept is whole."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["HANGUP", "postponed", "stops_interrupt"]

HANGUP = tuple(filter(None, [getattr(signal, "SIGHUP", None)]))  # Windows has none


@contextmanager
def postponed(wanted: bool = True) -> Iterator[list[int]]:
    """Inside, if `wanted`, signals to stop only go into the list that this gives.

    >>> with postponed() as stops:
    ...     signal.raise_signal(signal.SIGINT)
    >>> len(stops)
    1
    """
    came: list[int] = []
    stops = (signal.SIGINT, signal.SIGTERM, *HANGUP) if wanted else ()
    before = {number: signal.getsignal(number) for number in stops}
    heeded = {number: was for number, was in before.items() if was is not signal.SIG_IGN}  # nohup ignores
    for number in heeded:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield came
    finally:
        for number, was in heeded.items():
            signal.signal(number, was)


def stops_interrupt() -> None:
    """From now on SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""
    for number in (signal.SIGTERM, *HANGUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
