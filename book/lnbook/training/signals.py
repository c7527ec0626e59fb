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
    stops = (signal.SIGINT, *_stops()) if wanted else ()
    before = {n: signal.signal(n, lambda number, frame: came.append(number)) for n in stops}
    try:
        yield came
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def stops_interrupt() -> None:
    """From now on SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""
    for number in _stops():
        signal.signal(number, signal.default_int_handler)


def _stops() -> tuple[int, ...]:
    """SIGTERM, and SIGHUP unless it is ignored: `nohup` means that a run outlives its terminal."""
    return (signal.SIGTERM, *(n for n in HANGUP if signal.getsignal(n) is not signal.SIG_IGN))
