"""Files that appear whole or not at all, and a lock that dies with its process."""

import contextlib
import os
import platform
from pathlib import Path

from lnbook.ledger import files
from lnbook.training.errors import RunBusy, output_error

try:
    import fcntl
except ImportError:  # Windows has no flock: there, nothing stops two commands from sharing a folder
    fcntl = None  # type: ignore[assignment]

__all__ = ["Lock", "make_folder", "write_whole"]


def make_folder(path: Path) -> None:
    """Make a folder, with those above it, and see that files can be written in it.

    Raises `OutputError` if not.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(path, error) from error
    probe = path / f".{os.getpid()}.probe"
    write_whole(probe, b"can this be written?")
    probe.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """`lnbook.ledger.files.write_whole`, which says what to do where it fails.

    Raises `OutputError`; a file that had the name is then as it was.
    """
    try:
        files.write_whole(path, content)
    except OSError as error:
        raise output_error(path, error) from error


class Lock:
    """A file that one process holds; the system takes it back when that process ends, however it ends.

    A file system that has no locks refuses none.

    Args:
        path: of the file, which stays when the lock is released.

    Raises:
        RunBusy: another process holds it.
        OutputError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise output_error(path, error) from error
        try:
            self._take()
        except BlockingIOError:
            self._file.seek(0)
            owner = self._file.read().strip() or "another process"
            self._file.close()
            raise RunBusy(
                f"{path.parent} is in use by {owner}; wait for it, or stop it and go on with --resume."
            ) from None

    def _take(self) -> None:
        try:
            if fcntl:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # no locks on this file system
            return
        with contextlib.suppress(OSError):  # who it is helps, and is not needed
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} of {platform.node()}\n")
            self._file.flush()

    def release(self) -> None:
        """Let others have it."""
        with contextlib.suppress(OSError):  # what could not be flushed is who held it
            self._file.close()
