"""Which names code imports, and which files of our two packages they are."""

import ast
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

__all__ = ["PACKAGES", "Import", "file_of", "imports_in", "parsed"]


def _place(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).resolve().parents[1]


PACKAGES = {name: _place(name) for name in ("lnlib", "lnbook")}  # the folder that each lies in
# Python 3.11 counts how deep a syntax tree is once for all threads: two at a time end in a SystemError.
_PARSER = threading.Lock()


class Import(NamedTuple):
    """One imported name: of `from a.b import c as d` "a.b", "c" and "d"; of `import a.b` "a.b", "" and ""."""

    module: str
    name: str
    bound: str


def parsed(code: str) -> ast.Module:
    """The syntax tree, also where several threads ask for one."""
    with _PARSER:
        return ast.parse(code)


def imports_in(tree: ast.AST, package: str) -> list[Import]:
    """The names in the import statements of code in a package, wherever they stand.

    >>> imports_in(parsed("import a.b; from ..c import d as e"), "x.y")
    [Import(module='a.b', name='', bound=''), Import(module='x.c', name='d', bound='e')]
    """
    found: list[Import] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, "", "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            base = above[: len(above) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            found += [Import(module, alias.name, alias.asname or alias.name) for alias in node.names]
    return found


def file_of(module: str) -> Path | None:
    """The file of a module of ours, of a package its `__init__.py`; None if there is none."""
    top, *_ = parts = module.split(".")
    if top not in PACKAGES:
        return None
    place = PACKAGES[top].joinpath(*parts)
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)
