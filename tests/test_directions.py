"""Imports go one way: the book imports the library, and inside the book each package only those below it."""

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY, BOOK = ROOT / "lnlib", ROOT / "book" / "lnbook"
LAYERS = (
    "data",
    "ledger",
    "figures",
    "training",
    "curves",
    "races",
    "shared",
    "pages",
    "explore",
    "cli",
    "__main__",
)
BARE = {"numpy", "torch", "jaxtyping"}  # what `import lnlib` may need
EXTRAS = {"numba", "llvmlite", "scipy", "sympy"}
# The recurrent networks: each imports only those before it, so that no helper knows a network's class.
RECURRENT = (
    "options",
    "statistics",
    "variants",
    "cells",
    "spec",
    "forms",
    "convert",
    "backends",
    "kernels",
    "chunks",
    "fused",
    "recurrence",
    "stack",
    "steps",
    "diagnostics",
    "network",
    "layers",
    "foreign",
    "quantization",
    "__init__",
)


def named(file: Path, top: Path) -> Iterator[tuple[str, bool]]:
    """The dotted names that a file imports, and whether it does so whenever it is imported itself."""
    package = file.relative_to(top.parent).parent.parts
    tree = ast.parse(file.read_text(encoding="utf-8"))
    late = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) not in late
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                yield f"{base}.{alias.name}", id(node) not in late


def layer(name: str) -> str:
    """lnbook's package in a dotted name."""
    return name.split(".")[1]


def wrong_ways(file: Path, top: Path) -> list[str]:
    """What a file of lnbook imports that is not below it, and what it has of another page's room."""
    here = ".".join(file.relative_to(top.parent).with_suffix("").parts)
    if here == "lnbook.__init__":
        return [name for name, _ in named(file, top) if name.startswith("lnbook")]
    found = []
    for name, _ in named(file, top):
        parts = name.split(".")
        if parts[0] != "lnbook":
            continue
        unknown = len(parts) < 2 or parts[1] not in LAYERS
        upward = not unknown and LAYERS.index(parts[1]) > LAYERS.index(layer(here))
        aside = parts[1:2] == ["pages"] == [layer(here)] and parts[2:3] != here.split(".")[2:3]
        if unknown or upward or aside:
            found.append(name)
    return found


@pytest.mark.parametrize("file", sorted(LIBRARY.rglob("*.py")), ids=lambda f: f.relative_to(ROOT).as_posix())
def test_the_library_never_imports_the_book(file):
    assert not [name for name, _ in named(file, LIBRARY) if name.split(".")[0] == "lnbook"]


def imports(top: Path) -> dict[str, set[str]]:
    """The modules of a package, and which of each other they import, also late or for types only."""
    files = {".".join(f.relative_to(top.parent).with_suffix("").parts): f for f in top.rglob("*.py")}
    known = {name.removesuffix(".__init__"): file for name, file in files.items()}
    graph: dict[str, set[str]] = {}
    for module, file in known.items():
        parts = [name.split(".") for name, _ in named(file, top)]
        stems = ([".".join(p[:k]) for k in range(len(p), 0, -1)] for p in parts)
        graph[module] = {found for stem in stems if (found := next((s for s in stem if s in known), None))}
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; none for none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_modules_of_the_library_import_each_other_in_a_circle():
    assert circle(imports(LIBRARY)) == []


def test_a_helper_of_the_recurrent_networks_imports_only_those_before_it():
    graph = imports(LIBRARY)
    place = {("lnlib.rnn." + name).removesuffix(".__init__"): k for k, name in enumerate(RECURRENT)}
    place |= {name: place["lnlib.rnn.kernels"] for name in graph if name.startswith("lnlib.rnn.kernels.")}
    assert place.keys() == {name for name in graph if name.startswith("lnlib.rnn")}
    for module, rank in place.items():
        wrong = {name for name in graph[module] & place.keys() if place[name] > rank}
        assert not wrong, f"{module} imports {wrong}; take the facts from lnlib.rnn.spec instead"


@pytest.mark.parametrize(
    "code",
    [
        "from lnlib.rnn.layers import LSTM",
        "from lnlib.rnn import layers",
        "from . import layers",
        "from lnlib.rnn import LSTM",
        "def f():\n    import lnlib.rnn.layers",
        "if TYPE_CHECKING:\n    from lnlib.rnn.layers import LSTM",
    ],
)
def test_a_circle_is_seen_however_it_is_written(tmp_path, code):
    room = tmp_path / "lnlib" / "rnn"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text("from lnlib.rnn.layers import LSTM")
    (room / "layers.py").write_text("from lnlib.rnn import stack")
    (room / "stack.py").write_text("import torch")
    assert circle(imports(tmp_path / "lnlib")) == []
    (room / "stack.py").write_text(code)
    assert "lnlib.rnn.stack" in circle(imports(tmp_path / "lnlib"))


@pytest.mark.parametrize("file", sorted(LIBRARY.rglob("*.py")), ids=lambda f: f.relative_to(ROOT).as_posix())
def test_the_library_needs_numpy_torch_and_jaxtyping_and_names_the_rest_late(file):
    """But for the modules that wrap an extra: they are imported when somebody asks for what they do."""
    early = {name.split(".")[0] for name, at_import in named(file, LIBRARY) if at_import}
    wraps = EXTRAS if "kernels" in file.parts or file.name == "symbolic.py" else set()
    assert early - {"lnlib", "__future__"} - set(sys.stdlib_module_names) <= BARE | wraps


@pytest.mark.parametrize("file", sorted(BOOK.rglob("*.py")), ids=lambda f: f.relative_to(ROOT).as_posix())
def test_a_package_of_the_book_imports_only_those_below_it_and_no_room_another(file):
    assert not wrong_ways(file, BOOK)


def test_every_package_of_the_book_has_its_place():
    assert {f.stem for f in BOOK.iterdir() if f.suffix == ".py" or (f / "__init__.py").is_file()} == {
        *LAYERS,
        "__init__",
    }


def test_every_room_is_named_as_its_page():
    rooms = {f.name for f in (BOOK / "pages").iterdir() if (f / "__init__.py").is_file()}
    assert rooms <= {f.stem for f in (ROOT / "book").glob("*.ipynb")}


@pytest.mark.parametrize(
    ("place", "code", "refused"),
    [
        ("training/loop.py", "from lnbook.pages.sec6_4_draw import model", True),
        ("training/loop.py", "def f():\n    from lnbook import shared", True),
        ("pages/sec6_4_draw/model.py", "from lnbook.pages.sec2_background.batches import x", True),
        ("pages/sec6_4_draw/model.py", "from .drawings import x", False),
        ("pages/sec6_4_draw/model.py", "from ..sec2_background import batches", True),
        ("pages/sec6_4_draw/model.py", "from lnbook.shared import studies", False),
        ("explore/strokes.py", "import lnbook.cli.run", True),
        ("data/lookup.py", "import lnbook", True),
    ],
)
def test_the_checker_sees_every_spelling(tmp_path, place, code, refused):
    file = tmp_path / "lnbook" / place
    file.parent.mkdir(parents=True)
    file.write_text(code)
    assert bool(wrong_ways(file, tmp_path / "lnbook")) == refused
