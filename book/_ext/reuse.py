"""`make book FROM=<bundle>`: take from a released book the executed pages that this build would make again.

A page is taken if its key (digest.py) is the same here as where the bundle was made: same cells, code,
versions, scale, data and stored rows. Whatever else runs, and the build says why.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

import execute
from bundle import Bundle
from digest import differences, key_of, made_of
from execute import Executed, kept_folder
from schedule import Say
from seal import damage, seal

REASONS = 8  # as many are said; the rest is counted


def take(place: Path, paths: Iterable[Path], scale: str, say: Say) -> None:
    """Put the executed pages of a bundle whose keys still match among the kept ones, with their rows.

    Args:
        place: of the bundle.
        paths: of the notebooks of this build.
        scale: of this build, one of `execute.SCALES`.
        say: takes a line about how many pages were taken, and why not the others.

    Raises:
        BundleError: before anything is changed, if a file of the bundle is not what it should be.
    """
    paths = list(paths)
    execute.CACHE.mkdir(parents=True, exist_ok=True)
    reasons: dict[str, list[str]] = {}
    with Bundle(place) as bundle, tempfile.TemporaryDirectory(dir=execute.CACHE, prefix=".") as temporary:
        runs = unpacked(bundle, paths, Path(temporary))
        for path in paths:
            here, theirs = made_of(path, scale), bundle.manifest["pages"].get(path.stem)
            if theirs is None:
                reasons[path.stem] = ["not in the bundle"]
            elif theirs["key"] != key_of(here):
                reasons[path.stem] = differences(theirs["made_of"], told(here)) or ["its key differs"]
            else:
                _keep(runs[path].notebook.parent, kept_folder(path, scale))
    say(f"{place.name}: {len(paths) - len(reasons)} of {len(paths)} pages are what this build would make")
    for line in explained(reasons, len(paths)):
        say(f"to be run: {line}")


def unpacked(bundle: Bundle, paths: Iterable[Path], into: Path) -> dict[Path, Executed]:
    """The runs that a bundle has of these pages, each written into a folder of its own."""
    runs = {}
    for path in (path for path in paths if path.stem in bundle.manifest["pages"]):
        folder = into / path.stem
        bundle.unpack(f"executed/{path.stem}", folder)
        (folder / "results").mkdir(exist_ok=True)  # a page that measures nothing has it, empty
        runs[path] = Executed(folder / path.name, folder / "results", False)
    return runs


def _keep(run: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if damage(folder):  # or nothing is there
            shutil.rmtree(folder, ignore_errors=True)
            seal(run)
            run.rename(folder)


def told(parts: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest says of `digest.made_of`: long lists, of rules, by their digests."""
    return {kind: key_of(part) if isinstance(part, list) else part for kind, part in parts.items()}


def explained(reasons: Mapping[str, Iterable[str]], of: int) -> list[str]:
    """The reasons by how many pages they concern.

    >>> explained({"faq": ["its cells changed"], "lookup": ["its cells changed", "numpy 2 in place of 1"]}, 2)
    ['2 of 2 pages: its cells changed', '1 of 2 pages (lookup): numpy 2 in place of 1']
    """
    counts = Counter(reason for mine in reasons.values() for reason in dict.fromkeys(mine))
    lines = []
    for reason, count in counts.most_common(REASONS):
        pages = sorted(page for page, mine in reasons.items() if reason in mine)
        names = f" ({', '.join(pages)})" if count < min(of, 6) else ""
        lines.append(f"{count} of {of} pages{names}: {reason}")
    if more := len(counts) - len(lines):
        lines.append(f"and {more} reasons more")
    return lines
