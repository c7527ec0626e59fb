"""Standard output and error that stop nothing: a terminal that is gone, a full device, few characters."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["Steady", "steady"]


class Steady:
    """A stream whose writes never fail; everything else is the stream's own.

    What its encoding lacks is written as `\\xb1`. Once a write fails, because nobody reads any more or the
    device is full, the stream leads nowhere, and `lost` is the error.

    >>> import io
    >>> ascii = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    >>> print("1 ± 2", file=Steady(ascii), flush=True)
    >>> ascii.buffer.getvalue().strip()
    b'1 \\\\xb1 2'
    """

    def __init__(self, stream: Any) -> None:  # any stream of text; those of tests are no TextIO
        self._stream = stream
        self.lost: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, if that can be done."""
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            known = self._stream.encoding
            return self.write(text.encode(known, "backslashreplace").decode(known))
        except OSError as error:
            self._lose(error)
        return len(text)

    def flush(self) -> None:
        """Flush, if that can be done."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self.lost = self.lost or error
        # what is buffered yet would fail again, at the latest when the process ends
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def steady() -> Iterator[tuple[Steady, Steady]]:
    """Inside, `sys.stdout` and `sys.stderr` are `Steady`, which this gives; also if they had been closed."""
    with contextlib.ExitStack() as stack:
        found = []
        for stream in (sys.stdout, sys.stderr):
            # a closed one is None: what is meant for stderr would go to stdout
            place = stream or stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            found.append(Steady(place))
        out, err = found
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                yield out, err
            finally:
                out.flush()
                err.flush()
