"""Where the published files are: `$LNLIB_DATA`, the cache, or a download; and whether they are intact.

A file that is published plain may also stand compressed in its folder, as `<name>.gz`.

Environment variables, read at each call:

- `LNLIB_DATA`: a folder that holds `<data set>/<file as published>`; only ever read.
- `LNLIB_CACHE`: where downloads go; default is the user's cache folder of the operating system.
- `LNLIB_OFFLINE=1`: never use the network.
"""

import gzip
import hashlib
import os
import sys
import warnings
import zlib
from pathlib import Path

from tqdm import TqdmWarning

with warnings.catch_warnings():  # in a notebook without ipywidgets tqdm would tell readers to install them
    warnings.simplefilter("ignore", TqdmWarning)
    import pooch

from .dataset import DataError, DataSet, PublishedFile

__all__ = [
    "DownloadFailed",
    "cache_folder",
    "content",
    "download",
    "held",
    "is_offline",
    "locate",
    "place",
    "verify",
]

_TIMEOUT_S = 10  # to connect, and between two pieces of a transfer
_verified: set[tuple[str, int, int, str]] = set()


class DownloadFailed(OSError):
    """The network did not deliver a file: no connection, a refusal, or a transfer that broke off."""


def is_offline() -> bool:
    """Whether `LNLIB_OFFLINE` forbids the network."""
    return os.environ.get("LNLIB_OFFLINE", "") not in ("", "0")


def cache_folder() -> Path:
    """The folder of downloaded files: `$LNLIB_CACHE`, or the operating system's cache folder for lnlib."""
    return Path(os.environ.get("LNLIB_CACHE") or pooch.os_cache("lnlib"))


def locate(entry: DataSet) -> tuple[str, Path] | None:
    """The first place that holds the published files: ("LNLIB_DATA" | "cache", folder), or None.

    Looks at names only: no network, no hashing. Raises `DataError` when the user names a folder that does
    not exist, or one that holds some of the files but not all: accidents to report, not to paper over.
    """
    root = os.environ.get("LNLIB_DATA")
    if root:
        folder = Path(root) / entry.name
        if not Path(root).is_dir():
            raise DataError(
                f"LNLIB_DATA is {root!r}, and there is no folder {Path(root).absolute()}. Give an absolute "
                f"path (a relative one begins where the process runs: notebooks in book/), or unset it."
            )
        missing = _missing(entry.files, folder)
        if not missing or (entry.alternative and not _missing(entry.alternative, folder)):
            return "LNLIB_DATA", folder
        if len(missing) < len(entry.files):
            raise DataError(
                f"{folder} is incomplete: {', '.join(file.name for file in missing)} not there. Copy the "
                f"missing files (from {_addresses(entry, missing[0])[0]}) or take the others away."
            )
    folder = cache_folder() / entry.name
    return None if _missing(entry.files, folder) else ("cache", folder)


def held(entry: DataSet, folder: Path) -> tuple[PublishedFile, ...]:
    """The published files if `folder` holds them all, else the alternative ones."""
    return entry.alternative if entry.alternative and _missing(entry.files, folder) else entry.files


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
            packed = path.name != file.name
            found = hashlib.sha256(content(path)).hexdigest() if packed else _sha256(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror}); see to its permissions.") from error
        if found != file.sha256:
            raise DataError(
                f"{path} is not the published file: expected {file.size} bytes with SHA-256 {file.sha256}, "
                f"found {status.st_size} bytes with SHA-256 {found}. It is corrupt or another version; move "
                f"it away (lnlib never deletes it) and get it again, for example with "
                f"`python -m lnlib data --download {entry.name}`."
            )
        _verified.add(key)


def download(entry: DataSet) -> Path:
    """Fetch the missing files of a data set into the cache and return its folder there.

    A file appears under its name only when it is whole and its SHA-256 is right, so an interrupted
    download leaves nothing behind. A progress bar is shown on a terminal only.

    Raises `DownloadFailed` when no mirror delivers (or `LNLIB_OFFLINE` forbids to ask), `DataError` when
    what a mirror delivers is another file than the published one.
    """
    folder = cache_folder() / entry.name
    missing = _missing(entry.files, folder)
    if missing and is_offline():
        raise DownloadFailed("downloads are off (LNLIB_OFFLINE is set)")
    for file in missing:
        _download_file(entry, file, folder)
    return folder


def _download_file(entry: DataSet, file: PublishedFile, folder: Path) -> None:
    pooch.get_logger().setLevel("WARNING")  # it would announce each download on stderr, in notebooks too
    fetch = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=1 << 16,
        timeout=_TIMEOUT_S,
        headers={"Accept-Encoding": "identity"},  # the hash is of the .gz, which a server may offer to unpack
    )
    failures, another_file = [], False
    for url in _addresses(entry, file):
        try:
            pooch.retrieve(url, f"sha256:{file.sha256}", file.name, folder, downloader=fetch)
            return
        except OSError as error:  # of the network (requests' errors are OSErrors) or of the cache folder
            failures.append(f"{url}: {_reason(error)}")
        except ValueError as error:  # pooch: the SHA-256 of what came is not the known one
            failures.append(f"{url}: {error}")
            another_file = True
    if another_file:
        raise DataError(
            f"{file.name} of {entry.name} came, but not as the published file: {'; '.join(failures)}. "
            f"Nothing was kept. A login page of the network in between is a common cause; to work without "
            f"downloads set LNLIB_OFFLINE=1."
        )
    raise DownloadFailed("; ".join(failures))


def _addresses(entry: DataSet, file: PublishedFile) -> list[str]:
    return [file.url] if file.url else [mirror + file.name for mirror in entry.mirrors]


def _reason(error: OSError) -> str:
    """What an error says if it says it shortly, else its kind: requests nests whole chains in one line."""
    text = str(error)
    return text if len(text) <= 120 else type(error).__name__


def _missing(wanted: tuple[PublishedFile, ...], folder: Path) -> list[PublishedFile]:
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
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file ({error}); get it again.") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
