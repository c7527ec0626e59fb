"""A user's own files, which no published hash vouches for: folders of `$LNLIB_DATA`, and text in them."""

from pathlib import Path
from typing import Any

from .datasets import DataError
from .environment import users_folder
from .sources import digest_of_folder, noted

__all__ = ["present", "provenance_of", "read_text", "users_own"]


def present(name: str) -> bool:
    """Whether the user has a folder of that name, whatever it holds."""
    root = users_folder()
    return root is not None and (root / name).is_dir()


def users_own(name: str, remedy: str) -> Path:
    """The user's folder of that name.

    Raises DataError, with the remedy, where there is none.
    """
    root = users_folder()
    if root is None or not present(name):
        raise DataError(f"There is no folder $LNLIB_DATA/{name}, and lnbook cannot fetch it. {remedy}")
    return root / name


def provenance_of(folder: Path, licence: str, citation: str, **facts: Any) -> dict[str, Any]:
    """What is recorded of data that were read from a user's folder: see `lnbook.data.published`."""
    return noted(
        {
            "name": folder.name,
            "requested": folder.name,
            "source": "LNLIB_DATA",
            "licence": licence,
            "citation": citation,
            "sha256": digest_of_folder(folder),
            **facts,
        }
    )


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """The text of a file.

    Raises DataError for a file that cannot be read, is empty, or is not text in this encoding.
    """
    try:
        text = path.read_text(encoding=encoding)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check path and permissions.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not {encoding} text ({error}); save it in that encoding.") from error
    if not text or "\0" in text:  # a zero, as in UTF-16 or in a file that is not text
        raise DataError(f"{path} is empty or no text; get it again.")
    return text
