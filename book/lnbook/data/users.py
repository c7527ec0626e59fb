"""A user's own files, which no published hash vouches for: folders of `$LNLIB_DATA`, and reading in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .sources import DataError, Provenance, digest_of_folder, noted, users_folder


def users_own(name: str, remedy: str) -> Path:
    """The user's folder of that name; raises `DataError`, with the remedy, where there is none."""
    root = users_folder()
    if root is None or not (root / name).is_dir():
        raise DataError(f"There is no folder $LNLIB_DATA/{name}, and lnbook cannot fetch it. {remedy}")
    return root / name


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Around what reads a file: whatever is wrong with it is a `DataError` that names it."""
    try:
        yield
    except (OSError, ValueError, LookupError, SyntaxError) as error:
        raise DataError(f"{path} is not as it was published ({error}); get it again.") from error


def provenance_of(folder: Path, licence: str, citation: str, **facts: Any) -> Provenance:
    """What is recorded of data that were read from a user's folder: see `lnbook.data.published`."""
    about = {"name": folder.name, "requested": folder.name, "source": "LNLIB_DATA", "licence": licence}
    return noted(about | {"citation": citation, "sha256": digest_of_folder(folder), **facts})
