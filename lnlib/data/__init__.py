"""The data sets of the book: one `load`, which says what it found and never uses a network silently.

`load(name)` looks in this order: `$LNLIB_DATA/<name>/` (files as published), the user's cache, a download
(checked by SHA-256; off with `LNLIB_OFFLINE=1`), and last an embedded stand-in that it announces. A file
that is there but corrupt is an error; lnlib never deletes it.
"""

import hashlib
import warnings
from typing import Any, Literal

from . import files
from .binarized import amat_images, binarized_digits
from .cifar import cifar_images
from .images import Images, digits, idx_images, read_idx
from .registry import DATA_SETS, DataError, DataSet, PublishedFile, data_set

__all__ = [
    "DATA_SETS",
    "DataError",
    "DataSet",
    "Images",
    "PublishedFile",
    "StandInWarning",
    "data_set",
    "find",
    "load",
    "loaded",
    "read_idx",
]

_loaded: list[dict[str, Any]] = []


class StandInWarning(UserWarning):
    """A data set was asked for, another one was loaded in its place."""


def load(name: str, *, on_stand_in: Literal["warn", "error", "silent"] = "warn") -> Images:
    """A data set by name: "mnist", "fashion_mnist", "binarized_mnist", "cifar10", "digits" or
    "binarized_digits".

    Args:
        name: a name of `DATA_SETS`.
        on_stand_in: what to do when only the embedded stand-in can be had: give it with a
            `StandInWarning`, raise `DataError`, or give it silently. Its name is in `provenance` always.

    Returns:
        `Images`, whose `provenance` holds name, requested, source ("LNLIB_DATA", "cache", "download" or
        "embedded"), sha256, cases, licence and citation. `sha256` is that of the lines that `sha256sum`
        prints for the published files, in the registry's order; for digits, that of pixels and labels.

    Raises:
        DataError: unknown name, incomplete folder, corrupt file, or no data where a stand-in is refused.

    >>> load("digits").provenance["source"]
    'embedded'
    """
    if on_stand_in not in ("warn", "error", "silent"):
        raise DataError(f'on_stand_in is "warn", "error" or "silent", not {on_stand_in!r}.')
    entry = data_set(name)
    images = _embedded(entry, name) if not entry.files else _published(entry, on_stand_in)
    if images.provenance not in _loaded:
        _loaded.append(images.provenance)
    return images


def find(name: str) -> str:
    """Where `load` would find a data set without the network: "LNLIB_DATA", "cache", "embedded" or "absent".

    Looks at file names only and reads nothing.

    >>> find("digits")
    'embedded'
    """
    entry = data_set(name)
    if not entry.files:
        return "embedded"
    place = files.locate(entry)
    return place[0] if place else "absent"


def loaded() -> list[dict[str, Any]]:
    """The provenance of every data set that this process has loaded, each once, in order."""
    return [dict(provenance) for provenance in _loaded]


def _published(entry: DataSet, on_stand_in: str) -> Images:
    place = files.locate(entry)
    if place is None:
        try:
            place = "download", files.download(entry)
        except files.DownloadFailed as error:
            return _stand_in(entry, on_stand_in, str(error))
    source, folder = place
    files.verify(entry, folder)
    listing = "".join(f"{file.sha256}  {file.name}\n" for file in entry.files)
    sha256 = hashlib.sha256(listing.encode()).hexdigest()
    provenance = _provenance(entry, entry.name, source) | {"sha256": sha256}
    if entry.files[0].name.endswith(".amat"):
        return amat_images([files.place(folder, file) for file in entry.files], provenance)
    if entry.files[0].name.endswith(".tar.gz"):
        return cifar_images(files.place(folder, entry.files[0]), provenance)
    return idx_images(folder, provenance)


def _stand_in(entry: DataSet, on_stand_in: str, reason: str) -> Images:
    what = (
        f"{entry.name} is neither in $LNLIB_DATA/{entry.name}/ nor in the cache, and could not be "
        f"downloaded: {reason}."
    )
    remedy = (
        f"For the real data run `python -m lnlib data --download {entry.name}` or put the published files "
        f"into $LNLIB_DATA/{entry.name}/."
    )
    if on_stand_in == "error" or entry.stand_in is None:
        raise DataError(f"{what} {remedy}")
    if on_stand_in == "warn":
        title = data_set(entry.stand_in).title
        warnings.warn(f"{what} In its place: {title}. {remedy}", StandInWarning, stacklevel=4)
    return _embedded(data_set(entry.stand_in), entry.name)


def _embedded(entry: DataSet, requested: str) -> Images:
    make = binarized_digits if entry.name == "binarized_digits" else digits
    return make(_provenance(entry, requested, "embedded"))


def _provenance(entry: DataSet, requested: str, source: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "requested": requested,
        "source": source,
        "licence": entry.licence,
        "citation": entry.citation,
    }
