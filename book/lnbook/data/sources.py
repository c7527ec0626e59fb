"""Published files by the name of their data set: found, downloaded, verified; or a stand-in announced.

They are looked for in `$LNLIB_DATA/<name>/`, in the cache, and at the mirrors. A file that is published plain
may also stand compressed in its folder, as `<name>.gz`.
"""

import gzip
import hashlib
import sys
import tarfile
import warnings
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from .datasets import DATA_SETS, DataError, DataSet, PublishedFile, data_set
from .environment import cache_folder, is_offline, pooch, users_folder

__all__ = [
    "Finding",
    "OnStandIn",
    "Published",
    "StandInWarning",
    "announce",
    "content",
    "content_of",
    "digest_of_folder",
    "fetch",
    "find",
    "loaded",
    "noted",
    "published",
    "readiness",
    "tar_members",
]

OnStandIn = Literal["warn", "error", "silent"]

TIMEOUT_S = 10.0  # for a mirror's first answer, and between two pieces of a file
_loaded: list[dict[str, Any]] = []


class StandInWarning(UserWarning):
    """A data set was asked for, another one was loaded in its place."""


class DownloadFailed(OSError):
    """No mirror delivered a file as it is published, or none may be asked."""


class Published(NamedTuple):
    """What `published` found.

    Args:
        files: paths by the name of the file as published; empty where the embedded stand-in has to serve.
        provenance: name, requested, source ("LNLIB_DATA", "cache", "download" or "embedded"), licence and
            citation; for files also sha256: of the lines that `sha256sum` prints for them, in the table's
            order; and passed_over: what $LNLIB_DATA/<name> lacks, where it holds some of the files only. A
            loader adds to it, and it stays the entry of `loaded`.
    """

    files: dict[str, Path]
    provenance: dict[str, Any]


class Finding(NamedTuple):
    """One data set before it is used.

    Args:
        name: of the data set.
        source: "LNLIB_DATA", "cache", "embedded", "absent", or "unusable" where that cannot be told.
        note: what a reader should know, in a sentence without its end; "" for nothing.
        error: why loading will fail, in sentences with the remedy; "" if no reason is known.
        folder: where the files are, if they are anywhere.
    """

    name: str
    source: str
    note: str = ""
    error: str = ""
    folder: Path | None = None


def published(name: str, *, on_stand_in: OnStandIn = "warn") -> Published:
    """The files of a data set: from the user's folder, the cache or a download, each checked by SHA-256.

    Args:
        name: a name of `DATA_SETS`.
        on_stand_in: what to do when only the embedded stand-in is available: name it with a
            `StandInWarning`, raise `DataError`, or be silent.

    Raises:
        DataError: unknown name, missing or unreadable folder, corrupt file, or no data where a stand-in is
            refused.

    >>> published("digits").files, published("digits").provenance["source"]
    ({}, 'embedded')
    """
    entry = data_set(name)
    if not entry.files:
        return Published({}, noted(_about(entry, name, "embedded")))
    lacks = _lacks(entry)
    said = {"passed_over": f"$LNLIB_DATA/{name} {lacks}"} if lacks else {}
    try:
        source, folder = _place(entry) or ("download", _download(entry))
    except DownloadFailed as error:
        other = _stand_in(entry, on_stand_in, str(error), lacks)
        return Published({}, noted(_about(other, name, "embedded") | said))
    held = _verified(entry, folder)
    provenance = _about(entry, name, source) | {"sha256": _listed(held)} | said
    return Published({file.name: _path(folder, file) for file in held}, noted(provenance))


def find(name: str) -> str:
    """Where the data would be found without the network: "LNLIB_DATA", "cache", "embedded" or "absent".

    Looks at file names only and reads nothing.

    >>> find("digits")
    'embedded'
    """
    entry = data_set(name)
    place = _place(entry)
    return "embedded" if not entry.files else place[0] if place else "absent"


def content_of(name: str) -> str:
    """What stands for the content of a data set as it would be read now.

    Of published files the SHA-256 of the lines that `sha256sum` prints for them, whatever form they lie in;
    "embedded" for data that ship with lnbook, "stand-in" for those that are not available. Data of a user's
    own folder, whose hashes nobody publishes, are hashed whole.

    Raises `DataError` for a corrupt file, as `published` does.

    >>> content_of("digits")
    'embedded'
    """
    if name not in DATA_SETS:
        root = users_folder()
        return digest_of_folder(root / name) if root else "absent"
    entry = data_set(name)
    if not entry.files:
        return "embedded"
    try:
        _, folder = _place(entry) or ("download", _download(entry))
    except DownloadFailed:
        return "stand-in"
    _verified(entry, folder)
    return _listed(entry.files)


def readiness(names: Iterable[str]) -> list[Finding]:
    """Where each data set will come from and what is wrong with it: its files are hashed, no network is used.

    Raises `DataError` for a name that is no data set's.

    >>> readiness(["digits"])
    [Finding(name='digits', source='embedded', note='', error='', folder=None)]
    """
    return [_finding(data_set(name)) for name in names]


def fetch(names: Iterable[str], say: Callable[[str], object]) -> dict[str, str]:
    """Download the data sets that are absent, and what is corrupt in the cache.

    Args:
        names: of `DATA_SETS`.
        say: takes a line as each download begins and ends.

    Returns:
        By name, "" for a data set that is there now (or embedded), else the reason why it is not.

    Raises:
        DataError: a name that is no data set's.

    >>> fetch(["digits"], print)
    {'digits': ''}
    """
    reasons = {}
    for entry in [data_set(name) for name in names]:
        reasons[entry.name] = ""
        try:
            place = _place(entry)
            if place and (place[0] == "LNLIB_DATA" or is_offline()):
                _verified(entry, place[1])
            elif entry.files:
                if not place:
                    say(f"{entry.name}: downloading {entry.size / 1e6:.1f} MB")
                _download(entry, asked=True)
                say(f"{entry.name}: {'intact' if place else 'downloaded'}")
        except (DataError, DownloadFailed) as error:
            reasons[entry.name] = str(error)
            say(f"{entry.name}: {error}")
    return reasons


def loaded() -> list[dict[str, Any]]:
    """The provenance of every data set that this process has loaded, each once, in order."""
    return [dict(provenance) for provenance in _loaded]


def noted(provenance: dict[str, Any]) -> dict[str, Any]:
    """The entry of `loaded` for data that were read: this one, or that of the same data read before.

    A loader of a user's own files, which no entry of `DATA_SETS` describes, calls it itself.
    """
    for known in _loaded:
        if known.items() >= provenance.items() and "passed_over" not in known.keys() - provenance.keys():
            return known
    _loaded.append(provenance)
    return provenance


def content(path: Path) -> bytes:
    """The bytes of a file, uncompressed if its name ends in `.gz`."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def tar_members(path: Path) -> dict[str, bytes]:
    """The files in an archive by name, read in memory."""
    with tarfile.open(path) as archive:
        streams = {member.name: archive.extractfile(member) for member in archive}
        return {name: stream.read() for name, stream in streams.items() if stream}


def digest_of_folder(folder: Path) -> str:
    """The SHA-256 of the names and SHA-256s of all files of a folder; "absent" if it has none."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else "absent"


def _place(entry: DataSet) -> tuple[str, Path] | None:
    """The first place that holds all files of a data set, by their names."""
    for source, root in (("LNLIB_DATA", users_folder()), ("cache", cache_folder())):
        if root and _held(entry, root / entry.name):
            return source, root / entry.name
    return None


def _held(entry: DataSet, folder: Path) -> tuple[PublishedFile, ...]:
    """The files to read from a folder: the published ones, or else the alternative; none if it lacks some."""
    for wanted in (entry.files, entry.alternative):
        if wanted and all(_path(folder, file).is_file() for file in wanted):
            return wanted
    return ()


def _path(folder: Path, file: PublishedFile) -> Path:
    plain, packed = folder / file.name, folder / f"{file.name}.gz"
    return packed if packed.is_file() and not plain.is_file() else plain


def _lacks(entry: DataSet) -> str:
    """What the user's folder lacks, in words, if it holds some of the files only, so that another serves."""
    root = users_folder()
    if root is None or _held(entry, root / entry.name):
        return ""
    names = [file.name for file in entry.files if not _path(root / entry.name, file).is_file()]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"lacks {', '.join(names[:3])}{more}" if len(names) < len(entry.files) else ""


def _verified(entry: DataSet, folder: Path) -> tuple[PublishedFile, ...]:
    """The files to read from a folder, each with the SHA-256 that is published."""
    held = _held(entry, folder)
    for file in held:
        path = _path(folder, file)
        found = _sha256(path, unpacked=path != folder / file.name)
        if found != file.sha256:
            raise DataError(
                f"{path} is not the published file: expected {file.size} bytes with SHA-256 {file.sha256}, "
                f"found {path.stat().st_size} bytes with SHA-256 {found}. It is corrupt or another version; "
                f"move it away (lnbook never deletes it) and get it again, for example with "
                f"`python -m lnbook data --download {entry.name}`."
            )
    return held


def _sha256(path: Path, unpacked: bool = False) -> str:
    try:
        status = path.stat()
        return _hashed(path, unpacked, status.st_size, status.st_mtime_ns)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file ({error}); get it again.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); see to its permissions.") from error


@cache
def _hashed(path: Path, unpacked: bool, size: int, changed: int) -> str:
    """The hash of a file, once in a process unless the file's size or time changes."""
    with gzip.open(path) if unpacked else path.open("rb") as stream:
        return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()


def _listed(held: Iterable[PublishedFile]) -> str:
    listing = "".join(f"{file.sha256}  {file.name}\n" for file in held)
    return hashlib.sha256(listing.encode()).hexdigest()


def _download(entry: DataSet, asked: bool = False) -> Path:
    """The cache's folder of a data set, after fetching what it lacks and what has another hash."""
    if is_offline():
        raise DownloadFailed("downloads are off (LNLIB_OFFLINE is set)")
    if entry.consent and not asked:
        raise DownloadFailed(f"its license, {entry.licence}, is yours to accept, so nothing was asked for")
    folder = cache_folder() / entry.name
    pooch.get_logger().setLevel("WARNING")  # it would announce each download on stderr, in notebooks too
    http = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        timeout=TIMEOUT_S,
        headers={"Accept-Encoding": "identity"},  # the hash is of the .gz, which a server may offer to unpack
    )
    for file in entry.files:
        _retrieve(entry, file, folder / file.name, http)
    return folder


def _retrieve(entry: DataSet, file: PublishedFile, path: Path, http: Any) -> None:
    failures = []
    for url in [file.url] if file.url else [mirror + file.name for mirror in entry.mirrors]:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # pooch fails if another process makes it, too
            pooch.retrieve(url, f"sha256:{file.sha256}", path.name, path.parent, downloader=http)
        except (OSError, ValueError) as error:  # of the network or the disk; another file than the published
            failures.append(f"{url}: {_reason(error)}")
        else:
            return
    raise DownloadFailed("; ".join(failures))


def _reason(error: BaseException) -> str:
    """What the first cause of an error says, without the URL: requests nests whole chains in one line."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error).split(" for url")[0] or type(error).__name__


def _stand_in(entry: DataSet, on_stand_in: OnStandIn, reason: str, lacks: str) -> DataSet:
    """The data set that serves instead, announced."""
    what = f"{entry.name} is neither in $LNLIB_DATA/{entry.name}/ nor in the cache"
    if lacks:
        what = f"$LNLIB_DATA/{entry.name} {lacks}, and was passed over. {entry.name} is not in the cache"
    what = f"{what}, and could not be downloaded: {reason}."
    remedy = (
        f"For the real data run `python -m lnbook data --download {entry.name}` or put the published files "
        f"into $LNLIB_DATA/{entry.name}/."
    )
    if on_stand_in == "error" or entry.stand_in is None:
        raise DataError(f"{what} {remedy}")
    other = data_set(entry.stand_in)
    if on_stand_in == "warn":
        announce(f"{what} In its place: {other.title}. {remedy}")
    return other


def announce(stand_in: str) -> None:
    """Warn of a stand-in where code outside this package, and outside what checks its calls, asked for it."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in ("lnbook", "jaxtyping"):
        frame, level = frame.f_back, level + 1
    warnings.warn(stand_in, StandInWarning, stacklevel=level)


def _about(entry: DataSet, requested: str, source: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "requested": requested,
        "source": source,
        "licence": entry.licence,
        "citation": entry.citation,
    }


def _finding(entry: DataSet) -> Finding:
    if not entry.files:
        return Finding(entry.name, "embedded")
    source, folder = "unusable", None
    try:
        lacks = _lacks(entry)
        note = f"$LNLIB_DATA/{entry.name} is incomplete and passed over: it {lacks}" if lacks else ""
        source, folder = _place(entry) or ("absent", None)
        if folder:
            _verified(entry, folder)
            return Finding(entry.name, source, note, folder=folder)
        return Finding(entry.name, source, "; ".join(filter(None, (note, _instead(entry)))))
    except DataError as error:
        return Finding(entry.name, source, error=str(error), folder=folder)


def _instead(entry: DataSet) -> str:
    """What serves while a data set is absent."""
    ways = [f"stand-in {entry.stand_in}"] if entry.stand_in else []
    if not is_offline():
        asked = f" by `python -m lnbook data --download {entry.name}` (its license is yours to accept)"
        ways.insert(0, f"download of {entry.size / 1e6:.1f} MB{asked if entry.consent else ''}")
    return " or ".join(ways) or "nothing stands in, and downloads are off"
