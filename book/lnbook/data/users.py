"""A user's own files, which no published hash vouches for: plain files of a plausible size, and text."""

import stat
from pathlib import Path

from .dataset import DataError

__all__ = ["check_plain", "read_bytes", "read_text"]


def check_plain(path: Path, most: int) -> None:
    """Check that a file can be read from end to end, before any of it is read.

    Raises DataError for a folder, pipe or device, for a file that is empty or has more than `most` bytes, and
    for one that cannot be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is not a plain file but a folder, pipe or device; put the file there.")
        if not 0 < status.st_size <= most:
            raise DataError(
                f"{path} has {status.st_size} bytes; such a file has 1 to {most}. It is damaged or the "
                f"wrong file; get it again."
            )
        path.open("rb").close()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check path and permissions.") from error


def read_bytes(path: Path, most: int) -> bytes:
    """The bytes of a file of at most `most` bytes.

    Raises DataError as `check_plain` does.
    """
    check_plain(path, most)
    with path.open("rb") as file:
        return file.read(most)


def read_text(path: Path, most: int, encoding: str = "utf-8") -> str:
    """The text of a file of at most `most` bytes, without the byte order mark that some editors put first.

    Raises DataError as `read_bytes` does, and for a file that is not text in this encoding.
    """
    content = read_bytes(path, most)
    try:
        text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not {encoding.upper()} text from byte {error.start} on; save it in that encoding."
        ) from error
    if (zero := text.find("\0")) >= 0:  # as in UTF-16, or in a file that is not text
        raise DataError(
            f"{path} is not {encoding.upper()} text: character {zero} is zero; save it in that encoding."
        )
    return text
