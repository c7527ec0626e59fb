"""What a data set is: published files with their hashes, where they come from, and the licence."""

from dataclasses import dataclass

__all__ = ["DataError", "DataSet", "PublishedFile"]


class DataError(ValueError):
    """A data set that is not what it must be: unknown, incomplete, corrupt or not available."""


@dataclass(frozen=True)
class PublishedFile:
    """One file as its authors publish it; `sha256` and `size` (in bytes) are of the file as downloaded.

    `url` is its whole address, for a file that has one of its own.
    """

    name: str
    sha256: str
    size: int
    url: str = ""


@dataclass(frozen=True)
class DataSet:
    """One data set: its files, the mirrors that serve them, and what a reader must know before using it.

    A file is fetched from its `url`, or from `mirror + file.name`, mirrors tried in order. No files means
    that the data ship with lnbook or a dependency, or are generated. `stand_in` names the embedded data set
    that serves when this one is not available. `alternative` are other files with the same content, say one
    archive of them all, which only a user's folder may hold. `consent` says that the licence is for a user to
    accept: nothing downloads the files but a user who names them.
    """

    name: str
    title: str
    files: tuple[PublishedFile, ...]
    mirrors: tuple[str, ...]
    licence: str
    citation: str
    stand_in: str | None = None
    alternative: tuple[PublishedFile, ...] = ()
    consent: bool = False

    @property
    def size(self) -> int:
        """Bytes of all published files together."""
        return sum(file.size for file in self.files)
