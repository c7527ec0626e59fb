"""A page runs again when something that it is made from changes, and only then."""

from collections.abc import Callable
from pathlib import Path

import digest
import nbformat
import pytest

from lnbook.ledger.rules import Rule


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
    ("file", "counts"),
    [
        ("lnlib/norm.py", True),
        ("book/lnbook/data/sets.toml", True),
        ("book/lnbook/pages/one/draw.py", True),
        ("book/lnbook/pages/two/draw.py", False),
        ("book/results/study/runs.csv", True),
        ("book/results/book/one.csv", False),  # the page makes these
        ("book/lnbook/notes.txt", False),
    ],
)
def test_a_file_counts_for_the_pages_that_are_made_from_it(tree: Path, file: str, counts: bool) -> None:
    before = key(tree)
    write(tree / file, "2")
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
        lambda patch: patch.setattr(digest.metadata, "version", lambda name: "another"),
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
