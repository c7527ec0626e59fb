"""Where the published files are: `$LNLIB_DATA`, the cache, or a download; and whether they are intact.

A file that is published plain may also stand compressed in its folder, as `<name>.gz`.
"""

import gzip
import hashlib
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .dataset import DataError, DataSet, PublishedFile
from .environment import cache_folder, is_offline, users_folder
from .transfer import DownloadFailed, addresses, silent_hosts, transfer

__all__ = [
    "DownloadFailed",
    "PassedOver",
    "absent_from",
    "content",
    "digest_of_folder",
    "download",
    "held",
    "locate",
    "passed_over",
    "place",
    "verify",
]

_PIECE = 2**20
_verified: set[tuple[str, int, int, str]] = set()


class PassedOver(NamedTuple):
    """A folder of the user's that holds only some files of a data set, and what it lacks, in words."""

    folder: Path
    lacks: str


def locate(entry: DataSet) -> tuple[str, Path] | None:
    """The first place that holds the published files: ("LNLIB_DATA" | "cache", folder), or None.

    Looks at names only: no network, no hashing. A folder that holds some of the files but not all is passed
    over; `passed_over` tells. Raises `DataError` when the user names a folder that does not exist, or one
    that cannot be looked into.
    """
    folder = _users(entry)
    if folder and not absent_from(folder, held(entry, folder)):
        return "LNLIB_DATA", folder
    folder = cache_folder() / entry.name
    return None if absent_from(folder, entry.files) else ("cache", folder)


def passed_over(entry: DataSet) -> PassedOver | None:
    """The user's folder of a data set if it is there in part only, so that another place has to serve."""
    folder = _users(entry)
    if folder is None:
        return None
    missing = absent_from(folder, held(entry, folder))
    if not 0 < len(missing) < len(entry.files):
        return None
    names = [file.name for file in missing]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return PassedOver(folder, f"lacks {', '.join(names[:3])}{more}")


def _users(entry: DataSet) -> Path | None:
    root = users_folder()
    return root / entry.name if root else None


def held(entry: DataSet, folder: Path) -> tuple[PublishedFile, ...]:
    """The files to read from a folder: the alternative ones if it holds just them all, else the published."""
    instead = entry.alternative and absent_from(folder, entry.files)
    return entry.alternative if instead and not absent_from(folder, entry.alternative) else entry.files


def verify(entry: DataSet, folder: Path) -> None:
    """Check the size and SHA-256 of every file in `folder` that the data set counts on.

    A file that passed is not hashed again by this process unless it changes. Raises `DataError` with both
    hashes for the first file that fails, and leaves the file as it is; also for one that cannot be read.
    """
    for file in held(entry, folder):
        path = place(folder, file)
        try:
            status = path.stat()
            key = (str(path), status.st_size, status.st_mtime_ns, file.sha256)
            if key in _verified:
                continue
            packed = path != folder / file.name
            found = _sha256_unpacked(path, file.size) if packed else _sha256(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror}); see to its permissions.") from error
        if found != file.sha256:
            raise DataError(
                f"{path} is not the published file: expected {file.size} bytes with SHA-256 {file.sha256}, "
                f"found {status.st_size} bytes with SHA-256 {found}. It is corrupt or another version; move "
                f"it away (lnbook never deletes it) and get it again, for example with "
                f"`python -m lnbook data --download {entry.name}`."
            )
        _verified.add(key)


def download(
    entry: DataSet,
    silent: dict[str, str] | None = None,
    stop: threading.Event | None = None,
    *,
    bar: bool = True,
) -> Path:
    """Fetch the missing files of a data set into the cache and return its folder there.

    Args:
        entry: the data set.
        silent: hosts known not to answer, with the reasons; default: they are asked first, all at once.
        stop: ends the download soon after it is set.
        bar: whether to show a progress bar, on a terminal only.

    Raises:
        DownloadFailed: no mirror delivers, or `LNLIB_OFFLINE` forbids to ask.
        DataError: what a mirror delivers is another file than the published one.
    """
    folder = cache_folder() / entry.name
    missing = absent_from(folder, entry.files)
    if missing and is_offline():
        raise DownloadFailed("downloads are off (LNLIB_OFFLINE is set)")
    if silent is None:
        silent = silent_hosts(url for file in missing for url in addresses(entry, file))
    for file in missing:
        transfer(entry, file, folder, silent, stop, bar=bar and sys.stderr.isatty())
    return folder


def absent_from(folder: Path, wanted: tuple[PublishedFile, ...]) -> list[PublishedFile]:
    """Those of the files that a folder does not hold, by their names.

    Raises `DataError` for a folder that cannot be looked into.
    """
    try:
        return [file for file in wanted if not place(folder, file).is_file()]
    except OSError as error:
        raise DataError(
            f"{folder} cannot be looked into ({error.strerror}); see to its permissions."
        ) from error


def place(folder: Path, file: PublishedFile) -> Path:
    """Where a folder holds a file: compressed if only that is there, else under its own name."""
    plain, packed = folder / file.name, folder / f"{file.name}.gz"
    return packed if packed.is_file() and not plain.is_file() else plain


def content(path: Path) -> bytes:
    """The bytes of a file, uncompressed if its name ends in `.gz`.

    Raises `DataError` for what is no whole gzip file.
    """
    with _whole_gzip(path):
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _sha256_unpacked(path: Path, size: int) -> str:
    """The SHA-256 of what a gzip file holds, of which no more is unpacked than it should have and a byte."""
    digest, left = hashlib.sha256(), size + 1
    with _whole_gzip(path), gzip.open(path) as stream:
        while piece := stream.read(min(left, _PIECE)):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()


@contextmanager
def _whole_gzip(path: Path) -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file ({error}); get it again.") from error


def digest_of_folder(folder: Path) -> str:
    """The SHA-256 of the names and SHA-256s of all files of a folder; "absent" if it has none.

    A file is not hashed again by this process unless it changes.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    found = ((path, path.stat()) for path in paths)
    lines = [
        f"{_kept_sha256(path, status.st_size, status.st_mtime_ns)}  {path.relative_to(folder).as_posix()}\n"
        for path, status in found
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else "absent"


@cache
def _kept_sha256(path: Path, size: int, changed: int) -> str:
    return _sha256(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
