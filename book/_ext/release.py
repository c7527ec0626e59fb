"""`make release`: the built book, all that it measured, and both packages, in one file.

`python book/_ext/release.py --scale book` writes `_build/release/lnlib-book-<version>.zip` from what
`make pdf` left: nothing is executed, rendered or printed here. From the same files comes the same zip.
hatchling, the build backend of both packages, makes their archives; it gives them a fixed time.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bundle import write_bundle
from crate import CRATE, description
from digest import BOOK, ROOT, key_of, made_of
from execute import SCALES, kept_folder
from lnbook.data import resolve_environment
from reuse import told
from seal import damage

PACKED = (".py", ".css", ".js", ".csv")  # by both pyproject.toml
PDF = "layer-normalization-executed.pdf"


class NotReady(RuntimeError):
    """What a release needs is not there, or is of another build; says which command makes it."""


class Kept(NamedTuple):
    """Where the last run of a page is kept, and what it is made of, see `digest.made_of`."""

    folder: Path
    made_of: dict[str, Any]


def kept_pages(paths: Iterable[Path], scale: str) -> dict[str, Kept]:
    """The kept runs of all pages of a book.

    Raises:
        NotReady: for pages that have not run since something that they depend on changed, or whose run was.
    """
    kept = {path: Kept(kept_folder(path, scale), made_of(path, scale)) for path in paths}
    _check_kept(kept, scale)
    return {path.stem: kept[path] for path in sorted(kept)}


def _check_kept(kept: Mapping[Path, Kept], scale: str) -> None:
    if missing := sorted(path.stem for path, k in kept.items() if damage(k.folder)):
        raise NotReady(
            f"{len(missing)} pages have not run as they are now at {scale} scale, "
            f"or what they left was changed: {', '.join(missing)}. "
            f"Run `make release SCALE={scale}`, with the same data, which runs them"
        )


def files_of(pages: Mapping[str, Kept], html: Path, pdf: Path, packages: Path) -> dict[str, Path | bytes]:
    """What goes into the bundle, by its name there.

    Raises:
        NotReady: without pages of HTML made of these runs, or without the PDF.
    """
    files = {f"html/{name}": file for name, file in _tree(html)}
    for page, kept in pages.items():
        files |= {f"executed/{page}/{name}": file for name, file in _tree(kept.folder)}
        shown = html / "book" / "notebooks" / f"{page}.ipynb"
        if not shown.is_file() or shown.read_bytes() != (kept.folder / shown.name).read_bytes():
            raise NotReady(f"{html} was not made of the kept run of {page}: `make release` renders it")
    if not pdf.is_file():
        raise NotReady(f"{pdf} is missing: `make release` prints it, which needs Chromium")
    files[f"pdf/{PDF}"] = pdf
    files |= {f"packages/{name}": file for name, file in _tree(packages)}
    return dict(files)


def _tree(folder: Path) -> list[tuple[str, Path]]:
    """The files below a folder with their names; none that is hidden, such as Sphinx's own notes."""
    found = [(file.relative_to(folder), file) for file in sorted(folder.rglob("*")) if file.is_file()]
    return [(name.as_posix(), f) for name, f in found if not any(p.startswith(".") for p in name.parts)]


def build_packages(out: Path) -> None:
    """Wheel and source archive of both packages.

    Raises:
        NotReady: with what hatchling said; or for files that no commit has and the packages would.
    """
    if found := strays():
        raise NotReady(f"the packages would hold what git does not: {', '.join(found)}; add or remove them")
    for project in (ROOT, BOOK):
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotReady(f"{project / 'pyproject.toml'} does not build: {done.stderr.strip()[-2000:]}")


def strays() -> list[str]:
    """The files that the packages would hold and git does not track; none outside a checkout."""
    if not (ROOT / ".git").exists():
        return []
    command = ["git", "-C", str(ROOT), "ls-files", "--others", "-z", "--", "lnlib", "book/lnbook"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\0") if name.endswith(PACKED))


def release(paths: Iterable[Path], scale: str, build: Path, citation: Mapping[str, Any]) -> tuple[Path, str]:
    """Write the bundle of a built book.

    Args:
        paths: of the notebooks of the book.
        scale: at which they ran.
        build: the folder with `html`, `pdf` and `release`, which receives the bundle.
        citation: what CITATION.cff says; its version names the bundle.

    Returns:
        The bundle and its SHA-256.
    """
    pages = kept_pages(paths, scale)
    with tempfile.TemporaryDirectory() as temporary:
        build_packages(Path(temporary))
        files = files_of(pages, build / "html", build / "pdf" / PDF, Path(temporary))
        files[CRATE] = description(files, citation, scale)
        made = {page: {"key": key_of(k.made_of), "made_of": told(k.made_of)} for page, k in pages.items()}
        out = build / "release" / f"lnlib-book-{citation['version']}.zip"
        return out, write_bundle(out, files, {"version": citation["version"], "scale": scale, "pages": made})


def main() -> None:
    """Write the bundle of the book that was built last and print where it is."""
    resolve_environment()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="book", help="at which the book was built")
    scale = parser.parse_args().scale
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    try:
        out, digest = release(sorted(BOOK.glob("*.ipynb")), scale, ROOT / "_build", citation)
    except NotReady as error:
        raise SystemExit(str(error)) from None
    print(f"{out} ({out.stat().st_size / 1e6:.0f} MB, {scale} scale)\nSHA-256 {digest}")


if __name__ == "__main__":
    main()
