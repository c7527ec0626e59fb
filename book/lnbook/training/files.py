"""Files of a run: written whole or not at all, in a folder that one process at a time holds."""

import contextlib
import os
import platform
import tempfile
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from lnbook.ledger import files
from lnbook.training.errors import RunBusy, output_error

__all__ = ["lock", "make_folder", "write_whole"]


def make_folder(path: Path) -> None:
    """Make a folder, with those above it, and see that files can be written in it.

    Raises `OutputError` if not.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(path, error) from error
    try:
        with tempfile.TemporaryFile(dir=path) as probe:  # without a name, so that a kill leaves nothing
            probe.write(b"can this be written?")
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        raise output_error(path / "a file", error) from error


def write_whole(path: Path, content: bytes) -> None:
    """`lnbook.ledger.files.write_whole`, which says what to do where it fails.

    Raises `OutputError`; a file that had the name is then as it was.
    """
    try:
        files.write_whole(path, content)
    except OSError as error:
        raise output_error(path, error) from error


def lock(folder: Path) -> BaseFileLock:
    """Hold a folder until `release()`; the system takes it back when this process ends, however it ends.

    Raises:
        RunBusy: another process holds it.
        OutputError: its file `lock` cannot be written.
    """
    held, owner = FileLock(folder / "lock", timeout=0, thread_local=False), folder / "owner"
    try:
        held.acquire()
    except Timeout:
        try:
            who = owner.read_text(encoding="utf-8").strip() or "another process"
        except OSError:
            who = "another process"
        raise RunBusy(
            f"{folder} is in use by {who}; wait for it, or stop it and go on with --resume."
        ) from None
    except OSError as error:
        raise output_error(folder / "lock", error) from error
    with contextlib.suppress(OSError):  # who it is helps, and is not needed
        owner.write_text(f"process {os.getpid()} of {platform.node()}\n", encoding="utf-8")
    return held
