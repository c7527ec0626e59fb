"""What a build needs, looked at before any page runs: what is known to be wrong is said at once."""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import nbformat
from sphinx.errors import ExtensionError

from digest import ROOT
from lnbook.data import DataError, data_set, fetch, find, readiness, resolve_environment

FREE_BYTES = 500e6  # an executed book with its pages is a third of this


def made_ready(paths: list[Path], scale: str, say: Callable[[str], None]) -> None:
    """Refuse a build that must fail, with a line for everything that is wrong; else fetch the data once.

    The notebooks' metadata say which data sets they read; `say` takes what a reader should know.
    """
    problems = disk_problems()
    try:
        resolve_environment()
        for finding in readiness(data_sets(paths)):
            problems += [finding.error] if finding.error else []
            if finding.note:
                say(f"data: {finding.name}: {finding.note}")
    except DataError as error:
        problems.append(str(error))
    if problems:
        lines = [f"- {problem}" for problem in dict.fromkeys(problems)]
        raise ExtensionError("\n".join(["The book cannot be built:", *lines]))
    fetch_absent(paths, scale, say)


def fetch_absent(paths: Iterable[Path], scale: str, say: Callable[[str], object]) -> None:
    """Download the data that pages want and nobody has; after that no page uses the network."""
    if scale != "smoke":
        absent = [name for name in data_sets(paths) if find(name) == "absent" and not data_set(name).consent]
        reasons = fetch(absent, lambda line: say(f"data: {line}"))
        if missing := [name for name, reason in reasons.items() if reason]:
            say(f"data: without {', '.join(missing)}; the pages that want them say what they read instead")
    os.environ["LNLIB_OFFLINE"] = "1"


def data_sets(paths: Iterable[Path]) -> list[str]:
    """The data sets that these notebooks declare in their metadata, each once."""
    facts = (nbformat.read(path, 4).metadata.get("lnlib", {}) for path in paths)
    return list(dict.fromkeys(name for fact in facts for name in fact.get("data", [])))


def disk_problems(build: Path = ROOT / "_build") -> list[str]:
    """Why the build's folder cannot take a book: no leave to write, no room."""
    try:
        build.mkdir(exist_ok=True)
        (build / ".writable").write_text("")
        (build / ".writable").unlink()
    except OSError as error:
        return [f"{build} cannot be written to ({error.strerror}); see to its permissions"]
    if (free := shutil.disk_usage(build).free) < FREE_BYTES:
        return [f"{build} has {free / 1e6:.0f} MB free; a book needs {FREE_BYTES / 1e6:.0f} MB"]
    return []
