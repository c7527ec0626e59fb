"""The environment variables that say where data are and whether the network may be used, read at each call.

- `LNLIB_DATA`: a folder that holds `<data set>/<file as published>`; only ever read.
- `LNLIB_CACHE`: where downloads go; default is the user's cache folder of the operating system.
- `LNLIB_OFFLINE`: 1, true, yes or on: never use the network; 0, false, no, off or empty: it may be used.
"""

import os
import warnings
from pathlib import Path

from tqdm import TqdmWarning

with warnings.catch_warnings():  # in a notebook without ipywidgets tqdm would tell readers to install them
    warnings.simplefilter("ignore", TqdmWarning)
    import pooch

from .datasets import DataError

__all__ = ["cache_folder", "is_offline", "resolve_environment", "users_folder"]

_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off", "")


def resolve_environment() -> None:
    """Make `LNLIB_DATA` and `LNLIB_CACHE` absolute, in `os.environ`, as seen from the current folder.

    For programs to call first of all, before they change the folder or start others that run elsewhere (a
    notebook runs in its own folder). Unset and empty variables stay as they are.
    """
    for variable in ("LNLIB_DATA", "LNLIB_CACHE"):
        if os.environ.get(variable):
            os.environ[variable] = str(Path(os.environ[variable]).absolute())


def is_offline() -> bool:
    """Whether `LNLIB_OFFLINE` forbids the network.

    Raises `DataError` for a word that means neither yes nor no.
    """
    value = os.environ.get("LNLIB_OFFLINE", "")
    word = value.strip().lower()
    if word not in _ON + _OFF:
        raise DataError(
            f"LNLIB_OFFLINE is {value!r}, which says neither yes nor no: set it to {', '.join(_ON)} to work "
            f"without downloads, to {', '.join(_OFF[:-1])} or to nothing to allow them."
        )
    return word in _ON


def users_folder() -> Path | None:
    """The folder that `LNLIB_DATA` names, or None where it is unset or empty.

    Raises `DataError` where there is no such folder: a mistake to report, not to paper over.
    """
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


def cache_folder() -> Path:
    """The folder of downloaded files: `$LNLIB_CACHE`, or the operating system's cache folder for lnlib."""
    return Path(os.environ.get("LNLIB_CACHE") or pooch.os_cache("lnlib"))
