"""What an executed notebook depends on: its code, our files it reaches, versions, scale, data, rows.

The key changes exactly when one of these does, so a page is never stale and never executed for nothing.
"""

import hashlib
import json
import platform
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from lnbook import data
from lnbook.ledger.imports import file_of, imports_in, parsed
from lnbook.ledger.rules import load_rules

BOOK = Path(__file__).resolve().parents[1]
ROOT = BOOK.parent
VERSIONS = (
    "torch",
    "numpy",
    "pandas",
    "matplotlib",
    "scikit-learn",
    "scipy",
    "sympy",
    "numba",
    "llvmlite",
    "papermill",
    "ipykernel",
)


def notebook_key(path: Path, scale: str) -> str:
    """The hexadecimal SHA-256 of everything that the executed notebook is made from, see `made_of`."""
    return key_of(made_of(path, scale))


def key_of(parts: dict[str, Any]) -> str:
    """The key of what `made_of` lists."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def made_of(path: Path, scale: str) -> dict[str, Any]:
    """What the executed notebook is made from: of each kind, the digests, versions or words that tell."""
    notebook = nbformat.read(path, as_version=4)
    rules = load_rules(BOOK / "claims.toml")
    printed = tomllib.loads((BOOK / "claims.toml").read_text("utf-8")).get("table", [])
    cells = [(c.cell_type, c.source, c.metadata) for c in notebook.cells]
    return {
        "notebook": hashlib.sha256(json.dumps([cells, notebook.metadata]).encode()).hexdigest(),
        "scale": scale,
        "versions": {"python": platform.python_version()} | {n: metadata.version(n) for n in VERSIONS},
        "files": {str(f.relative_to(ROOT)): _sha256(f) for f in sorted(files_reached(notebook))},
        "rules": [repr(rule) for rule in rules if rule.page == path.stem],
        "printed": printed,
        "stored": {str(f.relative_to(BOOK)): _sha256(f) for f in stored(notebook, path.stem)},
        "data": {name: data.find(name) for name in notebook.metadata.get("lnlib", {}).get("data", [])},
    }


def differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """In words, how what a page would be made from now differs from what it was made from, see `made_of`.

    >>> differences({"versions": {"python": "3.11.7"}}, {"versions": {"python": "3.12.1"}})
    ['Python 3.12.1 in place of 3.11.7']
    >>> differences({"scale": "smoke", "files": {"lnlib/glm.py": "1"}}, {"scale": "book", "files": {}})
    ['book scale in place of smoke', 'lnlib/glm.py changed']
    """
    return [
        line
        for kind, now in ours.items()
        if theirs.get(kind) != now
        for line in _said(kind, theirs.get(kind), now)
    ]


def _said(kind: str, before: Any, now: Any) -> list[str]:
    if kind == "scale":
        return [f"{now} scale in place of {before}"]
    if kind in ("rules", "printed", "notebook"):
        return [f"{'its cells' if kind == 'notebook' else 'book/claims.toml'} changed"]
    before, now = (part if isinstance(part, dict) else {} for part in (before, now))
    changed = sorted(name for name in {**before, **now} if before.get(name) != now.get(name))
    if kind == "versions":
        named = {name: "Python" if name == "python" else name for name in changed}
        return [f"{named[n]} {now.get(n)} in place of {before.get(n)}" for n in changed]
    if kind == "data":
        return [f"data {n} from {now.get(n)} in place of {before.get(n)}" for n in changed]
    prefix = "book/" if kind == "stored" else ""
    return [f"{prefix}{name} changed" for name in changed]


def stored(notebook: nbformat.NotebookNode, page: str) -> list[Path]:
    """The files of `book/` that its metadata say it reads, but for the page's own rows, which it makes."""
    patterns = notebook.metadata.get("lnlib", {}).get("stored", [])
    return sorted(f for pattern in patterns for f in BOOK.glob(pattern) if f.stem != page)


def files_reached(notebook: nbformat.NotebookNode) -> set[Path]:
    """Our files that the notebook's code can import, and the scripts, styles and tables beside them."""
    python = TransformerManager().transform_cell  # turns %magics into calls
    reached: set[Path] = set()
    cells = [python(c.source) for c in notebook.cells if c.cell_type == "code"]
    todo = {file for source in cells for file in _imports(source, package="")}
    while todo:
        file = todo.pop()
        if file not in reached:
            reached.add(file)
            todo |= _imports_of_file(file)
    ours = {Path(__file__).with_name(name) for name in ("execute.py", "finish.py")}
    return reached | {f for file in reached for f in _beside(file)} | ours


def _beside(file: Path) -> set[Path]:
    """The scripts, styles and tables in a module's folder, but for those named as another module there."""
    found = {f for f in file.parent.iterdir() if f.suffix in {".js", ".css", ".csv"}}
    return {f for f in found if f.stem == file.stem or not f.with_suffix(".py").is_file()}


@cache
def _imports_of_file(file: Path) -> frozenset[Path]:
    place = BOOK if file.is_relative_to(BOOK) else ROOT
    package = ".".join(file.relative_to(place).parent.parts)
    return frozenset(_imports(file.read_text(encoding="utf-8"), package))


def _imports(code: str, package: str) -> set[Path]:
    """Files of our packages that this code names in an import statement, wherever it stands."""
    found = imports_in(parsed(code), package)
    names = {one.module for one in found} | {f"{one.module}.{one.name}" for one in found if one.name}
    return {file for name in names for file in _module_files(name)}


def _module_files(name: str) -> set[Path]:
    """The files that importing a dotted name runs: the packages on the way and the module itself."""
    parts = name.split(".")
    steps = (file_of(".".join(parts[:depth])) for depth in range(1, len(parts) + 1))
    return {file for file in steps if file}


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
