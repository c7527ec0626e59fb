"""One published file from the network into a folder: whole, with the right hash, in time, or not at all.

Bounds, because a mirror may be dead, hang, trickle or never end: a server that stays silent is given up after
`TIMEOUT_S`, a transfer that lasts longer than its size excuses is cut off, and so is a body that is longer
than the published file.
"""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO
from urllib.parse import urlsplit

from .dataset import DataError, DataSet, PublishedFile
from .environment import pooch

__all__ = ["DownloadFailed", "addresses", "host", "silent_hosts", "transfer"]

TIMEOUT_S = 10.0  # for a first answer, and between two pieces of a transfer
_SLOWEST = 50_000  # bytes a second
_SHORTEST_S = 60.0
_TICK_S = 0.1  # how soon a stop is noticed


class DownloadFailed(OSError):
    """The network did not deliver a file: no connection, a refusal, or a transfer that broke off."""


def addresses(entry: DataSet, file: PublishedFile) -> list[str]:
    """Where a file is asked for, in order: its own URL, or each mirror's."""
    return [file.url] if file.url else [mirror + file.name for mirror in entry.mirrors]


def host(url: str) -> str:
    """The server of a URL, with its port if it has one.

    >>> host("https://example.org:81/a/b.gz")
    'example.org:81'
    """
    return urlsplit(url).netloc


def silent_hosts(urls: Iterable[str]) -> dict[str, str]:
    """The hosts that do not answer at all, each with a reason in words; all are asked at once.

    Takes `TIMEOUT_S` at most, however many names and addresses lead nowhere. Any answer counts, be it a
    refusal: what it means will be seen at the transfer.
    """
    ask = pooch.HTTPDownloader(timeout=2 * TIMEOUT_S)  # the wait below ends first
    waiting = {host(url): url for url in reversed(list(urls))}
    answered: SimpleQueue[str] = SimpleQueue()

    def knock(name: str, url: str) -> None:
        with suppress(Exception):
            ask(url, None, None, check_only=True)
        answered.put(name)

    for each in waiting.items():
        threading.Thread(target=knock, args=each, daemon=True).start()
    end = time.monotonic() + TIMEOUT_S
    with suppress(Empty):
        while waiting:
            del waiting[answered.get(timeout=max(0.0, end - time.monotonic()))]
    return {name: f"{name} gave no answer within {TIMEOUT_S:g} s" for name in waiting}


def transfer(
    entry: DataSet,
    file: PublishedFile,
    folder: Path,
    silent: dict[str, str],
    stop: threading.Event | None = None,
    *,
    bar: bool = False,
) -> None:
    """Fetch one file into a folder, from the first address that has it.

    It appears under its name only when it is whole and its SHA-256 is right; until then it is a temporary
    file beside, which is removed whatever happens. So of two processes that fetch the same file, both can.

    Args:
        entry: the data set.
        file: one of its files.
        folder: where the file goes; made if it is not there.
        silent: hosts not to ask, with the reasons; one that breaks the connection is added.
        stop: ends the transfer soon after it is set.
        bar: whether to show a progress bar.

    Raises:
        DownloadFailed: no address delivers.
        DataError: what one delivers is another file than the published one.
    """
    failures, another_file = [], False
    for url in addresses(entry, file):
        if host(url) in silent:
            failures.append(f"{url}: {silent[host(url)]}")
            continue
        try:
            _retrieve(url, file, folder, stop or threading.Event(), bar)
            return
        except OSError as error:  # of the network (requests' errors are OSErrors) or of the cache folder
            failures.append(f"{url}: {_reason(error)}")
            if getattr(error, "response", None) is None:  # not a status like 404, which is of one file
                silent[host(url)] = _reason(error)
        except ValueError as error:  # too long, or its SHA-256 is not the known one
            failures.append(f"{url}: {error}")
            another_file = True
    if another_file:
        raise DataError(
            f"{file.name} of {entry.name} came, but not as the published file: {'; '.join(failures)}. "
            f"Nothing was kept. A login page of the network in between is a common cause; to work without "
            f"downloads set LNLIB_OFFLINE=1."
        )
    raise DownloadFailed("; ".join(failures))


class _Bounded:
    """A stream that takes so many bytes and not one more."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._size, self._room = stream, size, size

    def write(self, piece: bytes) -> int:
        self._room -= len(piece)
        if self._room < 0:
            raise ValueError(f"more than the {self._size} bytes of the published file came")
        return self._stream.write(piece)

    def flush(self) -> None:
        self._stream.flush()


def _retrieve(url: str, file: PublishedFile, folder: Path, stop: threading.Event, bar: bool) -> None:
    pooch.get_logger().setLevel("WARNING")  # it would announce each download on stderr, in notebooks too
    http = pooch.HTTPDownloader(
        progressbar=bar,
        chunk_size=1 << 16,
        timeout=TIMEOUT_S,
        headers={"Accept-Encoding": "identity"},  # the hash is of the .gz, which a server may offer to unpack
    )

    def download(url: str, temporary: str, _: object) -> None:
        with open(temporary, "wb") as stream:  # once it is closed, a thread given up cannot write any more
            bounded = _Bounded(stream, file.size)
            _within(max(_SHORTEST_S, file.size / _SLOWEST), partial(http, url, bounded, None), stop)

    # pooch makes folders too, but another process that makes the same one in between would fail it
    (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
    pooch.retrieve(url, f"sha256:{file.sha256}", file.name, folder, downloader=download)


def _within(seconds: float, call: Callable[[], object], stop: threading.Event) -> None:
    """Run a call, but go on without it after so many seconds: a socket's timeout bounds no whole transfer."""
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def work() -> None:
        try:
            call()
        except BaseException as error:
            ended.put(error)
        else:
            ended.put(None)

    threading.Thread(target=work, daemon=True).start()
    end = time.monotonic() + seconds
    while not stop.is_set():
        with suppress(Empty):
            error = ended.get(timeout=_TICK_S)
            if error is None:
                return
            try:
                raise error
            finally:
                del error  # it would hold this frame, and the frame it: sockets would stay open
        if time.monotonic() > end:
            raise DownloadFailed(f"not whole after {seconds:g} s")
    raise DownloadFailed("interrupted")


def _reason(error: BaseException) -> str:
    """What the first cause of an error says, without the URL: requests nests whole chains in one line."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error).split(" for url")[0] or type(error).__name__
