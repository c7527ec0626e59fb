"""A file that appears whole or not at all, and lasts."""

import contextlib
import errno
import os
import secrets
from pathlib import Path

__all__ = ["UNFINISHED", "write_whole"]

UNFINISHED = ".new"  # ends the name of a file that is being written


def write_whole(path: Path, content: bytes) -> None:
    """Write all of it under that name, or nothing: aside, flushed to the disk, then renamed.

    The name aside is this call's own, so that of two processes that write one file the later wins, and a
    reader finds one of the two. The folder is flushed, too, so that the new file outlives a loss of power.

    Raises OSError; a file that had the name is then as it was.
    """
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with aside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # there, folders cannot be opened, and a rename is written through
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that flushes no folders
            raise
    finally:
        os.close(place)
