"""Published files by the name of their data set: found, verified, recorded; or a stand-in announced."""

import hashlib
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from . import files
from .dataset import DataError, DataSet, PublishedFile
from .environment import users_folder
from .registry import DATA_SETS, data_set

__all__ = ["OnStandIn", "Published", "StandInWarning", "content_of", "find", "loaded", "noted", "published"]

OnStandIn = Literal["warn", "error", "silent"]

_PARTLY = "passed_over"
_loaded: list[dict[str, Any]] = []


class StandInWarning(UserWarning):
    """A data set was asked for, another one was loaded in its place."""


class Published(NamedTuple):
    """What `published` found.

    Args:
        files: paths by the name of the file as published; empty where the embedded stand-in has to serve.
        provenance: name, requested, source ("LNLIB_DATA", "cache", "download" or "embedded"), licence and
            citation; for files also sha256: of the lines that `sha256sum` prints for them, in the
            registry's order; and passed_over: what $LNLIB_DATA/<name> lacks, where it holds some of the files
            only and so did not serve. A loader adds to it, and it stays the entry of `loaded`.
    """

    files: dict[str, Path]
    provenance: dict[str, Any]


def published(name: str, *, on_stand_in: OnStandIn = "warn", depth: int = 1) -> Published:
    """The files of a data set: from the user's folder, the cache or a download, each checked by SHA-256.

    Args:
        name: a name of `DATA_SETS`.
        on_stand_in: what to do when only the embedded stand-in is available: name it with a
            `StandInWarning`, raise `DataError`, or be silent.
        depth: how many callers up the warning points.

    Raises:
        DataError: unknown name, missing or unreadable folder, corrupt file, or no data where a stand-in is
            refused.

    >>> published("digits").files, published("digits").provenance["source"]
    ({}, 'embedded')
    """
    if on_stand_in not in ("warn", "error", "silent"):
        raise DataError(f'on_stand_in is "warn", "error" or "silent", not {on_stand_in!r}.')
    entry = data_set(name)
    found = (
        _found(entry, on_stand_in, depth) if entry.files else Published({}, _about(entry, name, "embedded"))
    )
    return Published(found.files, noted(found.provenance))


def noted(provenance: dict[str, Any]) -> dict[str, Any]:
    """The entry of `loaded` for data that were read: this one, or that of the same data read before.

    A loader of a user's own files, which no entry of `DATA_SETS` describes, calls it itself.
    """
    for known in _loaded:
        if known.items() >= provenance.items() and _PARTLY not in known.keys() - provenance.keys():
            return known
    _loaded.append(provenance)
    return provenance


def find(name: str) -> str:
    """Where the data would be found without the network: "LNLIB_DATA", "cache", "embedded" or "absent".

    Looks at file names only and reads nothing.

    >>> find("digits")
    'embedded'
    """
    entry = data_set(name)
    if not entry.files:
        return "embedded"
    place = files.locate(entry)
    return place[0] if place else "absent"


def content_of(name: str, *, download: bool = True) -> str:
    """What stands for the content of a data set as it would be read now.

    Of published files the SHA-256 of the lines that `sha256sum` prints for them, whatever form they lie in;
    "embedded" for data that ship with lnbook, "stand-in" for those that are not available. Data of a user's
    own folder, whose hashes nobody publishes, are hashed whole.

    Without `download`, only what is there already is looked at. Raises `DataError` for a corrupt file, as
    `published` does.

    >>> content_of("digits")
    'embedded'
    """
    if name not in DATA_SETS:
        root = users_folder()
        return files.digest_of_folder(root / name) if root else "absent"
    entry = data_set(name)
    if not entry.files:
        return "embedded"
    try:
        place = _place(entry) if download else files.locate(entry)
    except files.DownloadFailed:
        place = None
    if place is None:
        return "stand-in"
    files.verify(entry, place[1])
    return _listed(entry.files)


def loaded() -> list[dict[str, Any]]:
    """The provenance of every data set that this process has loaded, each once, in order."""
    return [dict(provenance) for provenance in _loaded]


def _found(entry: DataSet, on_stand_in: str, depth: int) -> Published:
    partly = files.passed_over(entry)
    said = {_PARTLY: f"$LNLIB_DATA/{entry.name} {partly.lacks}"} if partly else {}
    try:
        source, folder = _place(entry)
    except files.DownloadFailed as error:
        return Published({}, _stand_in(entry, on_stand_in, str(error), partly, depth) | said)
    files.verify(entry, folder)
    held = files.held(entry, folder)
    hashed = {"sha256": _listed(held)}
    provenance = _about(entry, entry.name, source) | hashed | said
    return Published({file.name: files.place(folder, file) for file in held}, provenance)


def _place(entry: DataSet) -> tuple[str, Path]:
    """Where the files are, after a download if need be; raises `DownloadFailed`."""
    return files.locate(entry) or ("download", files.download(entry))


def _listed(held: Iterable[PublishedFile]) -> str:
    listing = "".join(f"{file.sha256}  {file.name}\n" for file in held)
    return hashlib.sha256(listing.encode()).hexdigest()


def _stand_in(
    entry: DataSet, on_stand_in: str, reason: str, partly: files.PassedOver | None, depth: int
) -> dict[str, Any]:
    nowhere = f"{entry.name} is neither in $LNLIB_DATA/{entry.name}/ nor in the cache"
    if partly:
        folder, lacks = partly
        nowhere = f"{folder} is incomplete and was passed over: it {lacks}. {entry.name} is not in the cache"
    what = f"{nowhere}, and could not be downloaded: {reason}."
    remedy = (
        f"For the real data run `python -m lnbook data --download {entry.name}` or put the published files "
        f"into $LNLIB_DATA/{entry.name}/."
    )
    if on_stand_in == "error" or entry.stand_in is None:
        raise DataError(f"{what} {remedy}")
    other = data_set(entry.stand_in)
    if on_stand_in == "warn":
        words = f"{what} In its place: {other.title}. {remedy}"
        warnings.warn(words, StandInWarning, stacklevel=depth + 3)
    return _about(other, entry.name, "embedded")


def _about(entry: DataSet, requested: str, source: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "requested": requested,
        "source": source,
        "licence": entry.licence,
        "citation": entry.citation,
    }
