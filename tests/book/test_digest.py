"""A page runs again when something that it is made from changes, so that it is never stale, and only then."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import digest
import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from lnbook.ledger.rules import Rule

BOOK = Path(__file__).resolve().parents[2] / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))


def rule(page: str, says: str = "it is small") -> Rule:
    return Rule(f"{page}-rule", "3", "Eq. (3)", says, page, "size", "< 1", "computed")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two pages with a room each, the library, what pages share, and recorded rows."""
    book = tmp_path / "book"
    for name in ("lnlib/norm.py", "book/lnbook/data/sets.toml", "book/lnbook/pages/one/draw.py"):
        write(tmp_path / name, "1")
    for name in ("lnbook/pages/two/draw.py", "results/study/runs.csv", "results/book/one.csv", "claims.toml"):
        write(book / name, "")
    cells = [nbformat.v4.new_code_cell("1 + 1", id="a")]
    facts = {"lnlib": {"data": ["digits"], "stored": ["results/*/*.csv"]}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=facts), book / "one.ipynb")
    for name, place in (("ROOT", tmp_path), ("BOOK", book), ("PAGES", book / "lnbook" / "pages")):
        monkeypatch.setattr(digest, name, place)
    monkeypatch.setattr(digest, "load_rules", lambda _: [rule("one"), rule("two")])
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def key(tree: Path, scale: str = "smoke") -> str:
    return digest.notebook_key(tree / "book" / "one.ipynb", scale)


@pytest.mark.parametrize(
    ("file", "text", "counts"),
    [
        ("lnlib/norm.py", "2", True),
        ("book/lnbook/data/sets.toml", "2", True),
        ("book/lnbook/pages/one/draw.py", "2", True),
        ("book/lnbook/pages/two/draw.py", "2", False),
        ("book/results/study/runs.csv", "2", True),
        ("book/results/book/one.csv", "2", False),  # the page makes these
        ("book/lnbook/notes.txt", "2", False),
        ("book/claims.toml", "[[table]]\nvalue = 79.5", True),  # a number of the paper
    ],
)
def test_a_file_counts_for_the_pages_that_are_made_from_it(
    tree: Path, file: str, text: str, counts: bool
) -> None:
    before = key(tree)
    write(tree / file, text)
    assert (key(tree) != before) == counts


@pytest.mark.parametrize(("page", "counts"), [("one", True), ("two", False)])
def test_a_rule_counts_for_its_own_page(
    tree: Path, monkeypatch: pytest.MonkeyPatch, page: str, counts: bool
) -> None:
    before, others = key(tree), {"one", "two"} - {page}
    monkeypatch.setattr(digest, "load_rules", lambda _: [rule(page, "changed"), *map(rule, others)])
    assert (key(tree) != before) == counts


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(digest, "packages", lambda: ["torch 99"]),
        lambda patch: patch.setattr(digest.data, "find", lambda name: "LNLIB_DATA"),
        lambda patch: patch.setattr(digest.platform, "python_version", lambda: "another"),
    ],
    ids=["a package", "where the data are", "Python"],
)
def test_versions_data_cells_and_scale_count(
    tree: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], None]
) -> None:
    before = key(tree)
    assert key(tree, "book") != before
    with monkeypatch.context() as patch:
        change(patch)
        assert key(tree) != before
    assert key(tree) == before
    notebook = nbformat.read(tree / "book" / "one.ipynb", 4)
    notebook.cells[0].source = "1 + 2"
    nbformat.write(notebook, tree / "book" / "one.ipynb")
    assert key(tree) != before


def code(page: Path) -> str:
    cells = [c.source for c in nbformat.read(page, as_version=4).cells if c.cell_type == "code"]
    return "\n".join(map(TransformerManager().transform_cell, cells))


def test_a_page_reads_no_room_but_its_own():
    for page in NOTEBOOKS:
        shown = set(re.findall(r"from lnbook\.explore\.(\w+) import", code(page)))
        figures = [(BOOK / "lnbook" / "explore" / f"{name}.py").read_text("utf-8") for name in shown]
        rooms = set(re.findall(r"\blnbook\.pages\.(\w+)", "\n".join([code(page), *figures])))
        own = (digest.PAGES / page.stem).is_dir()
        assert rooms <= {page.stem} or not own, f"{page.stem} would not run again when these change: {rooms}"


def rows_read(page: Path) -> set[str]:
    """The stored rows that a notebook, or a module of the room it has, names in a call: `<scale>/<name>`."""
    sources = [code(page)] + [f.read_text("utf-8") for f in (digest.PAGES / page.stem).rglob("*.py")]
    found = set()
    for node in (n for source in sources for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        named = isinstance(next(iter(node.args), None), ast.Constant)
        if called in ("stored", "recorded", "read_rows") and named:
            scale = next((k.value for k in node.keywords if k.arg == "scale"), ast.Constant("study"))
            assert isinstance(scale, ast.Constant), f"{page.stem} reads rows of a scale that only a run knows"
            found.add(f"{scale.value}/{node.args[0].value}")
    return found


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda f: f.stem)
def test_a_page_declares_the_stored_rows_that_it_reads_and_none_that_are_not_there(page):
    notebook = nbformat.read(page, as_version=4)
    for pattern in notebook.metadata.get("lnlib", {}).get("stored", []):
        assert list(BOOK.glob(pattern)), f"{page.stem} declares {pattern}, which matches nothing"
    # with how they came about; none of rules that are there before their runs
    read = {f for rows in rows_read(page) for f in (BOOK / "results").glob(f"{rows}.*")}
    if "import report\n" in code(page):  # all verdicts
        read |= {f for kind in ("book", "study", "paper") for f in (BOOK / "results" / kind).iterdir()}
        read |= {BOOK / "claims.toml"}
    undeclared = read - set(digest.stored(notebook, page.stem))
    assert not {f.relative_to(BOOK).as_posix() for f in undeclared if f.stem != page.stem}
