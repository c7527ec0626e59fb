"""One file with a whole book: a zip with the SHA-256 of each of its files, written and read with care.

The digests say that nothing was lost or changed on the way. They do not say who made a bundle: whoever
wants to know compares the digest of the whole file, which `make release` prints, with a published one.
"""

import hashlib
import io
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lnbook.ledger.files import write_whole

MANIFEST = "manifest.json"
NAME = "lnlib-book"
FORMAT = 1
MANIFEST_BYTES = 32 * 2**20
BUNDLE_BYTES = 4 * 2**30  # unpacked; a book with its PDF is a fiftieth of this
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip can say
_SAFE = re.compile(r"[A-Za-z0-9_+=@,-][A-Za-z0-9._+=@,-]*")


class BundleError(RuntimeError):
    """A bundle that is damaged, cut off, or none of this book's; says which of its files is wrong."""


def write_bundle(out: Path, files: Mapping[str, Path | bytes], facts: Mapping[str, Any]) -> str:
    """Write a bundle, the same for the same content, and return its SHA-256.

    Args:
        out: the zip to write; it is there when it is whole.
        files: what goes in, by its name in the bundle.
        facts: what else the manifest says.
    """
    contents: dict[str, dict[str, Any]] = {}
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(whole := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            given = files[name]
            data = given if isinstance(given, bytes) else given.read_bytes()
            _check_name(name)
            contents[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            _pack(packed, name, data)
        manifest = {"name": NAME, "format": FORMAT, **facts, "files": contents}
        _pack(packed, MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    write_whole(out, whole.getvalue())
    return hashlib.sha256(whole.getvalue()).hexdigest()


def _pack(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = 3  # as on Unix, wherever it is written
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    packed.writestr(info, data, zipfile.ZIP_DEFLATED)


class Bundle:
    """A bundle that was checked whole when it was opened; each file is checked again when it is read.

    Raises BundleError, with the name of the file that is wrong, for a zip that is damaged, cut off or of
    something else, and for names that lead out of the folder where they are unpacked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._packed = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise BundleError(
                f"{path} is no whole zip ({error}): it is cut off or something else; fetch it again"
            ) from error
        try:
            self._infos = self._members()
            self.manifest = self._manifest()
            self._check_contents()
        except BaseException:
            self._packed.close()
            raise

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._packed.close()

    def names(self, folder: str) -> Iterator[str]:
        """The names of the files in one of its folders."""
        return (name for name in sorted(self._listed()) if name.startswith(f"{folder}/"))

    def read(self, name: str) -> bytes:
        """The content of a file, as its digest says it is."""
        told = self._listed()[name]
        data = self._content(name, told["bytes"])
        if hashlib.sha256(data).hexdigest() != told["sha256"]:
            raise self._wrong(name, "is not the file that the manifest describes (its SHA-256 differs)")
        return data

    def unpack(self, folder: str, into: Path) -> None:
        """Write the files of one of its folders into a folder."""
        for name in self.names(folder):
            target = into / name.removeprefix(f"{folder}/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.read(name))

    def _members(self) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in self._packed.infolist():
            name = info.orig_filename  # as written: zipfile replaces separators and cuts at a zero byte
            kind = stat.S_IFMT(info.external_attr >> 16)
            if name in members:
                raise self._wrong(name, "is there twice")
            if kind not in (0, stat.S_IFREG):
                raise self._wrong(name, "is a link or another thing that is no plain file")
            try:
                _check_name(name)
            except ValueError as error:
                raise self._wrong(name, str(error)) from None
            members[name] = info
        return members

    def _manifest(self) -> dict[str, Any]:
        if MANIFEST not in self._infos:
            raise self._wrong(MANIFEST, "is missing: this is no bundle of the book")
        if (size := self._infos[MANIFEST].file_size) > MANIFEST_BYTES:
            raise self._wrong(MANIFEST, f"has {size} bytes; at most {MANIFEST_BYTES} are read")
        try:
            manifest = json.loads(self._content(MANIFEST, size))
            whose = manifest["name"], manifest["format"]
            listed = [(n, f["bytes"], f["sha256"]) for n, f in manifest["files"].items()]
            pages = [(p["key"], p["made_of"].items()) for p in manifest["pages"].values()]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._wrong(MANIFEST, f"cannot be read ({type(error).__name__}: {error})") from error
        if whose != (NAME, FORMAT):
            raise self._wrong(MANIFEST, f"is of {whose}, not of {(NAME, FORMAT)}: another book or version")
        if not all(isinstance(n, int) and n >= 0 and isinstance(s, str) for _, n, s in listed):
            raise self._wrong(MANIFEST, "has sizes or digests that are none")
        if not all(isinstance(key, str) for key, _ in pages):
            raise self._wrong(MANIFEST, "has page keys that are none")
        if (total := sum(n for _, n, _ in listed)) > BUNDLE_BYTES:
            raise self._wrong(MANIFEST, f"announces {total} bytes; at most {BUNDLE_BYTES} are unpacked")
        return manifest

    def _check_contents(self) -> None:
        announced, there = set(self._listed()), set(self._infos) - {MANIFEST}
        executed = {f"executed/{page}/{page}.ipynb" for page in self.manifest["pages"]}
        if missing := sorted((announced | executed) - there):
            raise self._wrong(missing[0], "is missing")
        if foreign := sorted(there - announced):
            raise self._wrong(foreign[0], "is not in the manifest")
        for name in sorted(announced):
            self.read(name)

    def _listed(self) -> dict[str, dict[str, Any]]:
        return self.manifest["files"]

    def _content(self, name: str, size: int) -> bytes:
        """A file's content, of which no more is unpacked than the size it should have."""
        info = self._infos[name]
        if info.file_size != size:
            raise self._wrong(name, f"has {info.file_size} bytes; the manifest says {size}")
        try:
            with self._packed.open(info) as stream:
                data = stream.read(size + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            EOFError,
            RuntimeError,  # also of a compression that this Python lacks
        ) as error:
            raise self._wrong(name, f"is damaged ({error})") from error
        if len(data) != size:
            raise self._wrong(name, f"unpacks to another size than {size} bytes")
        return data

    def _wrong(self, name: str, what: str) -> BundleError:
        return BundleError(f"{self.path}: {name!r} {what}; nothing was taken from it, fetch it again")


def _check_name(name: str) -> None:
    """Raise ValueError for a name that is not a plain relative path on every system."""
    if not all(_SAFE.fullmatch(part) for part in name.split("/")):
        raise ValueError("is no plain relative path")
