"""What an executed notebook depends on, as one key: it runs again when the key is another."""

import hashlib
import json
import platform
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import nbformat

from lnbook import data
from lnbook.ledger.rules import load_rules

BOOK = Path(__file__).resolve().parents[1]
ROOT = BOOK.parent
PAGES = BOOK / "lnbook" / "pages"


def notebook_key(path: Path, scale: str) -> str:
    """The hexadecimal SHA-256 of everything that the executed notebook is made from."""
    notebook = nbformat.read(path, as_version=4)
    rules = load_rules(BOOK / "claims.toml")
    parts = {
        "notebook": [[(c.cell_type, c.source, c.metadata) for c in notebook.cells], notebook.metadata],
        "scale": scale,
        "versions": [platform.python_version(), *packages()],
        "files": {
            str(f): hashlib.sha256(f.read_bytes()).hexdigest()
            for f in [*code_of(path.stem), *stored(notebook, path.stem)]
        },
        "rules": [repr(rule) for rule in rules if rule.page == path.stem],
        "printed": tomllib.loads((BOOK / "claims.toml").read_text("utf-8")).get("table", []),
        "data": {name: data.find(name) for name in notebook.metadata.get("lnlib", {}).get("data", [])},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def packages() -> list[str]:
    """What is installed, with versions: a page may print or draw by any of it."""
    return sorted({f"{package.name} {package.version}" for package in metadata.distributions()})


def code_of(page: str) -> list[Path]:
    """The library, the kit and the page's own room; a page without a room of its own has all of them."""
    files = {f for package in (ROOT / "lnlib", BOOK / "lnbook") for f in package.rglob("*")}
    if (PAGES / page).is_dir():
        files -= set(PAGES.rglob("*")) - set((PAGES / page).rglob("*"))
    files.add(Path(__file__).with_name("execute.py"))
    return sorted(f for f in files if f.suffix in {".py", ".js", ".css", ".csv", ".toml"})


def stored(notebook: nbformat.NotebookNode, page: str) -> list[Path]:
    """The files of `book/` that its metadata say it reads, but for the page's own rows, which it makes."""
    patterns = notebook.metadata.get("lnlib", {}).get("stored", [])
    return sorted(f for pattern in patterns for f in BOOK.glob(pattern) if f.stem != page)
