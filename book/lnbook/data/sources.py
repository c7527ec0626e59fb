"""Published files by the name of their data set: found, downloaded, checked; or a stand-in announced.

They are looked for in `$LNLIB_DATA/<name>/`, which is only ever read, in the cache, and at the mirrors that
`datasets.toml` lists. A folder serves if it has all files of a data set. A file that is published plain may
also stand compressed in its folder, as `<name>.gz`. `LNLIB_CACHE` says where downloads go (default: the
system's cache folder for users), and `LNLIB_OFFLINE`, unless 0, false, no or off, forbids the network.
"""

import gzip
import hashlib
import os
import sys
import tomllib
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tqdm import TqdmWarning

with warnings.catch_warnings():  # in a notebook without ipywidgets tqdm would tell readers to install them
    warnings.simplefilter("ignore", TqdmWarning)
    import pooch

OnStandIn = Literal["warn", "error", "silent"]
Files = dict[str, bytes]  # contents by the name of the file as published; none of an embedded data set
Provenance = dict[str, Any]

TIMEOUT_S = 10.0  # for a mirror's first answer, and between two pieces of a file
_loaded: list[Provenance] = []


class DataError(ValueError):
    """A data set that is not what it must be: unknown, corrupt or not available."""


class DownloadFailed(DataError):
    """No mirror delivered a file as it is published, or none may be asked."""


class StandInWarning(UserWarning):
    """A data set was asked for, another one was loaded in its place."""


@dataclass(frozen=True)
class PublishedFile:
    """One file as its authors publish it; `sha256` and `size` (in bytes) are of the file as downloaded."""

    name: str
    sha256: str
    size: int
    url: str = ""  # its whole address, if it is not on a mirror of its data set
    title: str = ""  # of a book


@dataclass(frozen=True)
class DataSet:
    """One entry of the table; the head of `datasets.toml` explains its fields."""

    name: str
    title: str
    licence: str
    citation: str
    files: Sequence[PublishedFile] = ()
    mirrors: Sequence[str] = ()
    stand_in: str | None = None
    alternative: Sequence[PublishedFile] = ()
    classes: Sequence[str] = ()
    consent: bool = False


def _entry(name: str, row: dict[str, Any]) -> DataSet:
    for kind in ("files", "alternative"):
        row[kind] = [PublishedFile(**file) for file in row.get(kind, ())]
    return DataSet(name, **row)


_TABLE = Path(__file__).with_name("datasets.toml").read_text("utf-8")
DATA_SETS = {name: _entry(name, row) for name, row in tomllib.loads(_TABLE).items()}


def published(name: str, *, on_stand_in: OnStandIn = "warn") -> tuple[Files, Provenance]:
    """The files of a data set, from the user's folder, the cache or a download, each checked by SHA-256.

    Where only the embedded stand-in is available, `on_stand_in` says whether to name it with a
    `StandInWarning`, to raise `DataError`, or to be silent. The provenance, to which a loader adds, has name,
    requested, source ("download", or as `find` says), licence, citation, and for files the sha256 of the
    lines that `sha256sum` prints for them.
    """
    entry = data_set(name)
    try:
        source, files, sha256 = _read(entry)
    except DownloadFailed as error:
        entry, source, files, sha256 = _stand_in(entry, on_stand_in, error), "embedded", {}, ""
    about = {"name": entry.name, "requested": name, "source": source}
    about |= {"licence": entry.licence, "citation": entry.citation}
    return files, noted(about | {"sha256": sha256} if sha256 else about)


def data_set(name: str) -> DataSet:
    """The entry of that name; raises `DataError`, with the known names, for any other."""
    if name not in DATA_SETS:
        raise DataError(f"There is no data set {name!r}; the known names are {', '.join(DATA_SETS)}.")
    return DATA_SETS[name]


def find(name: str) -> str:
    """Where files of those names are, unread: in "LNLIB_DATA", "cache", "embedded" or "absent"."""
    return _place(data_set(name))[0]


def content_of(name: str) -> str:
    """The SHA-256 of a data set as it would be read now; "embedded", or "stand-in" if it is not available."""
    if name not in DATA_SETS:
        root = users_folder()
        return digest_of_folder(root / name) if root else "absent"
    try:
        source, _, sha256 = _read(data_set(name))
    except DownloadFailed:
        return "stand-in"
    return sha256 or source


def verify(name: str) -> str:
    """As `find`, after a look at each file; raises `DataError` for a corrupt one."""
    source, held = _place(data_set(name))
    _checked(name, held)
    return source


def fetch(name: str) -> None:
    """Download what is absent or corrupt in the cache; `DataError` if not all is there, whole, at the end."""
    source = find(name)
    if source == "absent" or (source == "cache" and not _is_offline()):
        _download(data_set(name), asked=True)
    verify(name)


def loaded() -> list[Provenance]:
    """The provenance of every data set that this process has loaded, each once, in order."""
    once: list[Provenance] = []
    for provenance in _loaded:
        if provenance not in once:
            once.append(dict(provenance))
    return once


def noted(provenance: Provenance) -> Provenance:
    """The same, which `loaded` gives from now on, with what its loader adds."""
    _loaded.append(provenance)
    return provenance


def resolve_environment() -> None:
    """Make `LNLIB_DATA` and `LNLIB_CACHE` absolute, as seen from here: a page runs in its own folder."""
    for variable in ("LNLIB_DATA", "LNLIB_CACHE"):
        if os.environ.get(variable):
            os.environ[variable] = str(Path(os.environ[variable]).absolute())


def users_folder() -> Path | None:
    """The folder that `LNLIB_DATA` names, or None where it is unset or empty."""
    value = os.environ.get("LNLIB_DATA")
    if not value:
        return None
    folder = Path(value)
    if not os.access(folder, os.R_OK | os.X_OK) or not folder.is_dir():
        raise DataError(
            f"LNLIB_DATA is {value!r}, and there is no folder {folder.absolute()} that can be read. Give an "
            f"absolute path (a relative one begins where the process runs: notebooks in book/), or unset it."
        )
    return folder


def digest_of_folder(folder: Path) -> str:
    """The SHA-256 of the names and SHA-256s of all files of a folder; "absent" if it has none."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{pooch.file_hash(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else "absent"


def _is_offline() -> bool:
    word = os.environ.get("LNLIB_OFFLINE", "").strip().lower()
    return word not in ("", "0", "false", "no", "off")


def _cache() -> Path:
    return Path(os.environ.get("LNLIB_CACHE") or pooch.os_cache("lnlib"))


def _place(entry: DataSet) -> tuple[str, dict[PublishedFile, Path]]:
    """The first place that holds all files of a data set, by their names."""
    if not entry.files:
        return "embedded", {}
    for source, root in (("LNLIB_DATA", users_folder()), ("cache", _cache())):
        for wanted in (entry.files, entry.alternative):
            held = {file: _path(root / entry.name / file.name) for file in wanted} if root else {}
            if held and all(path.is_file() for path in held.values()):
                return source, held
    return "absent", {}


def _path(plain: Path) -> Path:
    packed = plain.with_name(f"{plain.name}.gz")
    return packed if packed.is_file() and not plain.is_file() else plain


def _read(entry: DataSet) -> tuple[str, Files, str]:
    """Where the files are, after a download if need be, and as `_checked` their contents and hash."""
    source, held = _place(entry)
    if source == "absent":
        _download(entry)
        source, held = "download", _place(entry)[1]
    return source, *_checked(entry.name, held)


def _checked(name: str, held: dict[PublishedFile, Path]) -> tuple[Files, str]:
    """The published contents, and the SHA-256 of the lines that `sha256sum` prints for them."""
    found, lines = {}, ""
    for file, path in held.items():
        try:
            body = path.read_bytes()
            if path.name != Path(file.name).name:
                body = gzip.decompress(body)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} cannot be read ({error}); see to it, or get it again.") from error
        digest = hashlib.sha256(body).hexdigest()
        if digest != file.sha256:
            raise DataError(
                f"{path} is not the published file: expected {file.size} bytes with SHA-256 {file.sha256}, "
                f"found {len(body)} bytes with SHA-256 {digest}. It is corrupt or another version; move it "
                f"away (lnbook never deletes it) and get it again, for example with "
                f"`python -m lnbook data --download {name}`."
            )
        found[file.name] = body
        lines += f"{digest}  {file.name}\n"
    return found, hashlib.sha256(lines.encode()).hexdigest() if lines else ""


def _download(entry: DataSet, asked: bool = False) -> None:
    """Fetch into the cache what it lacks and what has another hash."""
    if _is_offline():
        raise DownloadFailed("downloads are off (LNLIB_OFFLINE is set)")
    if entry.consent and not asked:
        raise DownloadFailed(f"its license, {entry.licence}, is yours to accept, so nothing was asked for")
    pooch.get_logger().setLevel("WARNING")  # it would announce each download on stderr, in notebooks too
    http = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        timeout=TIMEOUT_S,
        headers={"Accept-Encoding": "identity"},  # the hash is of the .gz, which a server may offer to unpack
    )
    for file in entry.files:
        path, failures = _cache() / entry.name / file.name, []
        for url in [file.url] if file.url else [mirror + file.name for mirror in entry.mirrors]:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)  # pooch fails if another process makes it, too
                pooch.retrieve(url, f"sha256:{file.sha256}", path.name, path.parent, downloader=http)
                break
            except (OSError, ValueError) as error:  # of the network or the disk; another file than published
                failures.append(f"{url}: {error}")
        else:
            raise DownloadFailed("; ".join(failures))


def _stand_in(entry: DataSet, on_stand_in: OnStandIn, reason: DownloadFailed) -> DataSet:
    """The data set that serves instead, announced."""
    what = f"{entry.name} is not whole in $LNLIB_DATA/{entry.name}/ or in the cache"
    what = f"{what}, and could not be downloaded: {reason}."
    remedy = (
        f"For the real data run `python -m lnbook data --download {entry.name}` or put the published files "
        f"into $LNLIB_DATA/{entry.name}/."
    )
    if on_stand_in == "error" or entry.stand_in is None:
        raise DataError(f"{what} {remedy}")
    other = data_set(entry.stand_in)
    if on_stand_in == "warn":
        warnings.warn(f"{what} In its place: {other.title}. {remedy}", StandInWarning, stacklevel=3)
    return other
