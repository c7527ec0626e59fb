"""What a build needs, looked at before any page runs: what is known to be wrong is said at once."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import nbformat
from sphinx.errors import ExtensionError

from lnbook.data import DataError, data_set, fetch, find, resolve_environment, verify


def made_ready(paths: list[Path], scale: str, say: Callable[[str], None]) -> None:
    """Refuse a build that must fail, with a line for everything that is wrong; else fetch the data once.

    The notebooks' metadata say which data sets they read; `say` takes what a reader should know.
    """
    problems: list[str] = []
    resolve_environment()
    for name in data_sets(paths):
        try:
            if verify(name) == "absent":
                say(f"data: {name} is not there; what stands in for it: {data_set(name).stand_in}")
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
        missing = []
        for name in absent:
            say(f"data: {name}: downloading {data_set(name).size / 1e6:.1f} MB")
            try:
                fetch(name)
            except DataError as error:
                say(f"data: {name}: {error}")
                missing.append(name)
        if missing:
            say(f"data: without {', '.join(missing)}; the pages that want them say what they read instead")
    os.environ["LNLIB_OFFLINE"] = "1"


def data_sets(paths: Iterable[Path]) -> list[str]:
    """The data sets that these notebooks declare in their metadata, each once."""
    facts = (nbformat.read(path, 4).metadata.get("lnlib", {}) for path in paths)
    return list(dict.fromkeys(name for fact in facts for name in fact.get("data", [])))
