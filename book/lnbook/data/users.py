"""Files of a user's that no published hash vouches for: plain files of a size that can be meant, and text."""

import stat
from pathlib import Path

from .dataset import DataError

__all__ = ["check_plain", "read_bytes", "read_text"]


def check_plain(path: Path, most: int) -> None:
    """See that a file can be read from end to end, before anything is read.

    Raises DataError for a folder, pipe or device, for a file that is empty or larger than so many bytes, and
    for one that cannot be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is no plain file but a folder, a pipe or a device; put the file there.")
        if not 0 < status.st_size <= most:
            raise DataError(
                f"{path} has {status.st_size} bytes; such a file has 1 to {most}. It is damaged or another "
                f"one; get it again."
            )
        path.open("rb").close()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); see to its permissions.") from error


def read_bytes(path: Path, most: int) -> bytes:
    """The bytes of a file, which are at most so many.

    Raises DataError as `check_plain` does.
    """
    check_plain(path, most)
    with path.open("rb") as file:
        return file.read(most)


def read_text(path: Path, most: int, encoding: str = "utf-8") -> str:
    """The text of a file of at most so many bytes, without the mark that some editors put at the beginning.

    Raises DataError as `read_bytes` does, and for what is no text in this encoding.
    """
    content = read_bytes(path, most)
    try:
        text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is no text in {encoding}, from byte {error.start} on; save it as that."
        ) from error
    if (zero := text.find("\0")) >= 0:  # as in UTF-16, or in what is no text at all
        raise DataError(
            f"{path} is no text in {encoding}: character {zero} is zero; save it in that encoding."
        )
    return text
